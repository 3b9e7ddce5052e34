// SPDX-License-Identifier: Apache-2.0
// How busy the links of the machine were, on a drawing of the machine.

/** @param {HTMLElement} parent @param {Results} results @param {any} one a drawn case */
function addLinkPicture(parent, results, one) {
  if (!one.links) {
    parent.append(element("p", "notice", "The machine has too many links to draw."));
    return;
  }
  const all = one.links.map((link, i) => ({ ...link, name: linkText(one.link_names[i]), busy: one.time_s > 0 ? link.busy_s / one.time_s : 0 }));
  const machine = withoutDeadEnds({ ...one, links: all });
  const { nodes, links } = machine;
  const used = links.filter((link) => link.messages > 0).sort((a, b) => b.busy - a.busy);
  if (!used.length) return;
  const title = linksTitle(one, links, used);
  addFigure(parent, {
    id: `${results.id}links`,
    title,
    text: `${one.name ? `${one.name}. ` : ""}Circles are ranks${nodes.some((node) => node.rank === null) ? ", boxes other devices" : ""}. Each line is one direction of a link: ${alikeText(links) ? "the width shows" : "the colour shows how much of the time it was busy, the width"} its bandwidth; dashed lines carried nothing.${links.length > mostDrawnCables ? ` The ${countText(mostDrawnCables)} busiest of ${countText(links.length)} are drawn.` : ""}${nodes.length < one.nodes.length ? ` Not drawn: ${leftOutDevices(one.nodes, nodes)}, through which no route leads.` : ""}`,
    draw: (host, width) => drawMachine(host, width, machine, links, title),
    table: {
      columns: [
        { head: "link", cell: (link) => link.name, words: true },
        { head: "busy", cell: (link) => percentText(link.busy) },
        { head: "bandwidth", rate: (link) => link.bytes_per_s },
        { head: "bytes", cell: (link) => bytesText(link.bytes) },
        { head: "messages", cell: (link) => countText(link.messages) },
      ],
      rows: [...used, ...links.filter((link) => link.messages === 0)],
    },
  });
}

/** "8 nic" @param {Device[]} all @param {Device[]} kept */
function leftOutDevices(all, kept) {
  const names = all.filter((device) => !kept.includes(device)).map(({ name }) => kindOfDevice(name));
  return [...new Set(names)].map((kind) => `${countText(names.filter((name) => name === kind).length)} ${kind}`).join(", ");
}

function linksTitle(one, links, used) {
  if (!(one.time_s > 0)) return "The run takes no time: no link is ever busy";
  const most = used[0].busy;
  const main = mainShare({ shares: one.shares ?? {}, time: one.time_s });
  if (most < 0.1 && ["start", "work", "flight"].includes(main.key))
    return `Links are hardly used, the busiest ${percentText(most)} of the time: ${partText(main.share)} of it goes to ${main.to}`;
  const alike = used.filter((link) => link.busy > most * 0.999).length;
  const idle = links.length - used.length;
  const rest = idle ? `; ${countText(idle)} of ${countText(links.length)} carry nothing` : "";
  const all = used.length === 2 ? "Both" : `All ${countText(used.length)}`;
  if (alike === used.length && alike > 1) return `${all} used links are busy ${percentText(most)} of the time${rest}`;
  if (alike > 1) return `The ${countText(alike)} busiest links are busy ${percentText(most)} of the time${rest}`;
  return `The busiest link, ${used[0].name}, is busy ${percentText(most)} of the time${rest}`;
}
