import type { Statement } from '@baton/kernel/sql';

/** Where processes of one store tell each other that a tenant's journal has grown. */
export const journalChannel = 'baton_journal';
/** The same for identities whose binding or principal changed. */
export const bindingChannel = 'baton_bindings';

/** A notification that is lost with a crash is made good by the poll, so its transaction needn't reach the disk. */
export const openChannel = 'set synchronous_commit = off';
export const listenToChannels = `listen ${journalChannel}; listen ${bindingChannel}`;
export const answerAlive = 'select 1';

export function notify(channel: string, payload: string): Statement<never> {
  return { text: 'select pg_notify($1, $2)', values: [channel, payload] };
}
