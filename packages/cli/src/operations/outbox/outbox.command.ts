import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addOutboxDrop } from './outbox-drop.command.ts';
import { addOutboxList } from './outbox-list.command.ts';
import { addOutboxRedrive } from './outbox-redrive.command.ts';

/** `baton operations outbox …`: pending events of sinks, and dead letters. */
export function addOutbox(operations: Command, context: CommandContext): void {
  const group = operations.command('outbox').description('pending events of sinks, and dead letters');
  for (const add of [addOutboxList, addOutboxRedrive, addOutboxDrop]) add(group, context);
}
