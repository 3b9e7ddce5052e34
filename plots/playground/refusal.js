// SPDX-License-Identifier: Apache-2.0
// What the page says about a setting that cannot be simulated.

/** The search for a number of slots that works may take this long. */
const slotSearchMs = 250;

/** @param {Engine} engine @param {EngineSetting} numbers @param {EngineError} error */
function refusalText(engine, numbers, error) {
  if (error.code !== "deadlock") return error.message;
  if (numbers.slots === 0) return `Deadlock: some ranks wait for each other forever.\n${lanesText(error)}`;
  const slots = `${countText(numbers.slots)} message${numbers.slots === 1 ? "" : "s"}`;
  return (
    `Deadlock: some ranks wait for each other forever. A connection holds ${slots} here ("slots"); when it is full, its sender ` +
    "waits until the receiver takes one. These ranks form a cycle: each waits for the next, which cannot continue either. " +
    `${wayOut(engine, numbers)}\n${lanesText(error)}`
  );
}

/** @param {EngineError} error */
function lanesText({ message }) {
  return `In detail (a lane is a sequence of steps that a rank executes in order): ${message}.`;
}

/** @param {Engine} engine @param {EngineSetting} numbers */
function wayOut(engine, numbers) {
  const fewest = fewestSlots(engine, numbers);
  return fewest ? `It works with ${countText(fewest)} slots or more, and without a limit.` : "Use more slots, or no limit.";
}

/** The smallest number of slots that works: more never hurt.  Null if there is none, or if looking for it
 *  takes too long. @param {Engine} engine @param {EngineSetting} numbers which do not work */
function fewestSlots(engine, numbers) {
  const until = performance.now() + slotSearchMs;
  let [tooFew, enough] = [numbers.slots, 0];
  while (enough === 0 || enough - tooFew > 1) {
    const slots = enough === 0 ? 2 * tooFew : Math.floor((tooFew + enough) / 2);
    if (slots > mostSlots || performance.now() > until) return null;
    if (isStuck(engine, { ...numbers, slots })) tooFew = slots;
    else enough = slots;
  }
  return enough;
}

/** @param {Engine} engine @param {EngineSetting} numbers */
function isStuck(engine, numbers) {
  try {
    engine.run(numbers, 0);
    return false;
  } catch (error) {
    if (error.code !== "deadlock") throw error;
    return true;
  }
}

/** Says which setting the time and pictures belong to, if not the current one.
 *  @param {boolean} refused @param {Case|null} now what worked last */
function showWhose(refused, now) {
  const whose = byId("whose");
  whose.hidden = !refused;
  document.body.classList.toggle("stale", refused);
  document.body.classList.toggle("empty", refused && !now);
  if (!refused) return;
  whose.textContent = now
    ? "Time and pictures (pale) are those of the last setting that worked:"
    : "This setting has no time and no pictures: change a knob, or start over.";
  byId("compared").textContent = now ? "(the last setting that worked)" : "cannot be simulated";
  if (!now) byId("time").textContent = "No time:";
}
