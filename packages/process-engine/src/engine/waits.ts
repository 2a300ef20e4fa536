import type { Trigger } from '../language/forms.ts';
import type { Definition } from './definition-lists.ts';
import type { ProcessState } from './state.ts';
import { isOpen } from './timers.ts';

/**
 * The conditions that an instance waits for, as keys by which events find it: `entity:<id>`, `event:<type>`,
 * `observation:<kind>` and `calendar:<key>`, `ended:<id>` of an instance that it called, and `own:<id>/event:<type>`
 * for its own events. An event costs nothing for instances that don't wait for it.
 */
export function waitsOf({ steps, handlers }: Definition, state: ProcessState): string[] {
  if (state.status !== 'running' && state.status !== 'suspended') return [];
  const keys = new Set<string>();
  for (const { key, on } of handlers) if (key === undefined) keys.add(ownKey(state.id, waitKeyOf(on)));
  for (const node of Object.values(state.nodes)) {
    if (node.kind !== 'element') continue;
    const { taskId, callId, childId, observationId, ballots = [] } = node;
    if (taskId !== undefined) keys.add(`entity:${taskId}`);
    if (callId !== undefined) keys.add(`entity:${callId}`);
    if (childId !== undefined) keys.add(`ended:${childId}`);
    if (observationId !== undefined) keys.add(`entity:${observationId}`);
    for (const { approvalId, principalId, vote, asked } of ballots) {
      if (vote !== 'pending') continue;
      keys.add(`entity:${principalId}`);
      if (asked) keys.add(`entity:${approvalId}`);
    }
    if (node.waitsFor !== 'event') continue;
    for (const trigger of steps.get(node.id)?.listen?.any ?? []) keys.add(waitKeyOf(trigger));
  }
  for (const timer of Object.values(state.timers))
    if (timer.calendar !== null && isOpen(timer)) keys.add(`calendar:${timer.calendar}`);
  return [...keys].sort();
}

/** The key by which an event finds the instances that wait for a trigger. */
export const waitKeyOf = ({ event, observation }: Pick<Trigger, 'event' | 'observation'>) =>
  event === undefined ? `observation:${observation}` : `event:${event}`;

/** The key of an instance's own event, for that instance's handlers without a key. */
export const ownKey = (instanceId: string, waitKey: string) => `own:${instanceId}/${waitKey}`;
