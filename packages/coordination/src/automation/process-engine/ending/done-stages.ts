import type { Machine } from '../machine.ts';
import type { ElementNode, SequenceNode } from '../state.ts';

/**
 * The active stages whose last step is done. Within one input a list can be at its end before the engine has noticed: what ends the
 * instance then, such as a `complete` step elsewhere, doesn't change how the stage ended.
 */
export function findDoneStages(m: Machine): ReadonlySet<string> {
  const [lists, steps] = [m.sequences(), m.elements()];
  const isListDone = ({ id, at }: SequenceNode): boolean => {
    const length = m.definition.lists.get(id)?.length ?? 0;
    const open = steps.find(({ parent }) => parent === id);
    return open === undefined ? at >= length : at === length - 1 && isStepDone(open);
  };
  const isStepDone = ({ id, undoing = [] }: ElementNode): boolean => {
    const inner = lists.filter(({ parent }) => parent === id);
    if (inner.length === 0 || undoing.length > 0) return false;
    return m.step(id).fork?.mode === 'compete' ? inner.some(isListDone) : inner.every(isListDone);
  };
  const active = Object.keys(m.state.stages).filter((id) => m.state.stages[id]?.state === 'active');
  const isStageDone = (id: string) =>
    lists.filter(({ stage, parent }) => stage === id && parent === null).every(isListDone);
  return new Set(active.filter(isStageDone));
}
