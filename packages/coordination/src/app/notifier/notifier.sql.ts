import type { Statement } from '@baton/kernel/database/sql';

/** The channel on which the processes of one database announce that a tenant's journal has grown. */
export const journalChannel = 'baton_journal';
/** The channel for changes to an identity's binding or principal. */
export const bindingChannel = 'baton_bindings';

/**
 * A poll compensates for a notification that is lost in a crash, so the transaction that sends it need not be flushed
 * to disk.
 */
export const openChannel = 'set synchronous_commit = off';
export const listenToChannels = `listen ${journalChannel}; listen ${bindingChannel}`;
export const answerAlive = 'select 1';

export function notify(channel: string, payload: string): Statement<never> {
  return { text: 'select pg_notify($1, $2)', values: [channel, payload] };
}
