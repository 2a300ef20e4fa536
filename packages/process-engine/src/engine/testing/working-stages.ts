import type { Fiber, Open } from './interpreter-parts.ts';

/** The stages with remaining steps; null for lists outside of stages. */
export function workingStages(fibers: readonly Fiber[]): Set<string | null> {
  return new Set(fibers.filter((fiber) => !fiber.isBranch && !isDone(fiber)).map(({ stage }) => stage));
}

/** Whether all lists of a fiber, including those of its forks, have ended. */
function isDone({ lists }: Fiber): boolean {
  return lists.every(({ left, open }, n) => {
    if (left > 0) return false;
    if (open === null) return true;
    return open.undoing.length === 0 && (n < lists.length - 1 || isForked(open));
  });
}

function isForked({ step, branches }: Open): boolean {
  const open = branches.filter(({ isOver }) => !isOver);
  if (open.length === 0) return false;
  return step.fork?.mode === 'compete' ? open.some(isDone) : open.every(isDone);
}
