import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { addAdapter } from './adapter/adapter.command.ts';
import { addArchive } from './archive.command.ts';
import { addExport } from './export.command.ts';
import { addOutbox } from './outbox/outbox.command.ts';
import { addPrune } from './prune.command.ts';

/** Each adds one command to the group, or a group of its own, and has a file of its own. */
const commands = [addExport, addArchive, addPrune, addAdapter, addOutbox];

/** `baton operations …`: what an operator does with the journal and its consumers. */
export function addOperations(program: Command, context: CommandContext): void {
  const group = program.command('operations').description('operate the journal and its consumers');
  for (const add of commands) add(group, context);
}
