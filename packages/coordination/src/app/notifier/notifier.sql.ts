import type { Statement } from '@baton/kernel/database/sql';

/** Where the processes on one database tell each other that a tenant's journal has grown. */
export const journalChannel = 'baton_journal';
/** Where they tell each other that the binding or the principal of an identity changed. */
export const bindingChannel = 'baton_bindings';

/** A poll makes up for a notification that a crash loses, so its transaction need not reach the disk. */
export const openChannel = 'set synchronous_commit = off';
export const listenToChannels = `listen ${journalChannel}; listen ${bindingChannel}`;
export const answerAlive = 'select 1';

export function notify(channel: string, payload: string): Statement<never> {
  return { text: 'select pg_notify($1, $2)', values: [channel, payload] };
}
