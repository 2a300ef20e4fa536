import type { Checkpoint, ControlMessage, JournalEvent, RunAction } from '@baton/sdk';

/** One entry of a run's timeline. */
export type Entry = { readonly key: string; readonly at: string } & (
  | { readonly checkpoint: Checkpoint }
  | { readonly action: RunAction }
  | { readonly message: ControlMessage }
  | { readonly event: JournalEvent }
);

interface Lists {
  readonly checkpoints: readonly Checkpoint[];
  readonly actions: readonly RunAction[];
  readonly messages: readonly ControlMessage[];
  readonly events: readonly JournalEvent[];
}

/** Events of checkpoints and messages, which have their own entries. */
const shownAsObjects = /^run\.(checkpointed$|control_message\.)/;

/** All entries of a run, oldest first. */
export function entriesOf({ checkpoints, actions, messages, events }: Lists): Entry[] {
  const entries: Entry[] = [
    ...checkpoints.map((checkpoint) => ({ key: checkpoint.id, at: checkpoint.createdAt, checkpoint })),
    ...actions.map((action) => ({ key: action.id, at: action.startedAt, action })),
    ...messages.map((message) => ({ key: message.id, at: message.acceptedAt, message })),
    ...events
      .filter(({ type }) => !shownAsObjects.test(type))
      .map((event) => ({ key: event.id, at: event.occurredAt, event })),
  ];
  // The sort is stable, so entries with the same time stay in the order of their lists.
  return entries.sort((one, other) => one.at.localeCompare(other.at));
}
