import type { Command } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { addAdapter } from './adapter/adapter.command.ts';
import { addArchive } from './archive.command.ts';
import { addExport } from './journal-export.command.ts';
import { addOutbox } from './outbox/outbox.command.ts';
import { addPrune } from './prune.command.ts';

/** Each adds one command or a group of commands, and has its own file. */
const commands = [addExport, addArchive, addPrune, addAdapter, addOutbox];

/** `baton operations …`: commands for operators of the journal and its consumers. */
export function addOperations(program: Command, context: CommandContext): void {
  const group = program.command('operations').description('operate the journal and its consumers');
  for (const add of commands) add(group, context);
}
