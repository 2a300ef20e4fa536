import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addAdapterRebuild } from './adapter-rebuild.command.ts';
import { addAdapterRedrive } from './adapter-redrive.command.ts';
import { addAdapterShow } from './adapter-show.command.ts';

/** `baton operations adapter …`: the delivery to the memory service. */
export function addAdapter(operations: Command, context: CommandContext): void {
  const group = operations.command('adapter').description('operate the delivery to the memory service');
  for (const add of [addAdapterShow, addAdapterRedrive, addAdapterRebuild]) add(group, context);
}
