// SPDX-License-Identifier: Apache-2.0
// How busy the links of the machine were, on a drawing of the machine.

/** @param {HTMLElement} parent @param {Results} results @param {any} one a drawn case */
function addLinkPicture(parent, results, one) {
  if (!one.links) {
    parent.append(element("p", "notice", "The machine has too many links to draw."));
    return;
  }
  const links = one.links.map((link, i) => ({ ...link, name: linkText(one.link_names[i]), busy: one.time_s > 0 ? link.busy_s / one.time_s : 0 }));
  const used = links.filter((link) => link.messages > 0).sort((a, b) => b.busy - a.busy);
  if (!used.length) return;
  const title = linksTitle(one, links, used);
  addFigure(parent, {
    id: `${results.id}links`,
    title,
    text: `${one.name ? `${one.name}. ` : ""}Circles are ranks${one.nodes.some((node) => node.rank === null) ? ", boxes other devices" : ""}. Each line is one direction of a link: ${alikeText(links) ? "the width shows" : "the colour shows how much of the time it was busy, the width"} its bandwidth; dashed lines carried nothing.${links.length > mostDrawnCables ? ` The ${countText(mostDrawnCables)} busiest of ${countText(links.length)} are drawn.` : ""}`,
    draw: (host, width) => drawMachine(host, width, one, links, title),
    table: {
      columns: [
        { head: "link", cell: (link) => link.name, words: true },
        { head: "busy", cell: (link) => percentText(link.busy) },
        { head: "bandwidth", cell: (link) => rateText(link.bytes_per_s) },
        { head: "bytes", cell: (link) => bytesText(link.bytes) },
        { head: "messages", cell: (link) => countText(link.messages) },
      ],
      rows: [...used, ...links.filter((link) => link.messages === 0)],
    },
  });
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
