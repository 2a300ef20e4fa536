import type { Command } from 'commander';
import { etagOf } from '@baton/sdk';
import { invocation } from '../../../../bin/invocation.mjs';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { PlainError } from '../plain-error.ts';
import { show } from '../show.ts';

/** `baton task close`, `cancel`, `relate` and `unrelate`. */
export function addTaskMoves(task: Command, context: CommandContext): void {
  addClose(task, context);
  addCancel(task, context);
  addRelate(task, context);
  addUnrelate(task, context);
}

function addClose(task: Command, context: CommandContext): void {
  withCommonOptions(task.command('close <ref>').description('complete a task that nobody works on')).action(
    (ref: string, options: CommonOptions) =>
      asCaller(options, context, async (baton) => {
        const ifMatch = etagOf(await baton.tasks.get(ref));
        const closed = await baton.tasks.complete(ref, {}, { ifMatch });
        await show(context.output, options, closed, () => [`${closed.publicId} is ${closed.status}.`]);
      }),
  );
}

function addCancel(task: Command, context: CommandContext): void {
  withCommonOptions(
    task.command('cancel <ref>').description('end a task that is not wanted any more'),
  ).action((ref: string, options: CommonOptions) =>
    asCaller(options, context, async (baton) => {
      const ifMatch = etagOf(await baton.tasks.get(ref));
      const { targets } = await baton.tasks.listTransitions(ref);
      const end = targets.find(({ systemStatusCategory }) => systemStatusCategory === 'terminal_cancelled');
      if (end === undefined) throw new PlainError(`${ref} can't be cancelled from where it stands.`);
      const ended = await baton.tasks.update(ref, { status: end.status }, { ifMatch });
      await show(context.output, options, ended, () => [`${ended.publicId} is ${ended.status}.`]);
    }),
  );
}

const relationHelp = 'parent, depends_on, blocks, spawned_by or related_to';

function addRelate(task: Command, context: CommandContext): void {
  const command = task
    .command('relate <ref> <type> <other>')
    .description(`relate a task to another: ${relationHelp}`);
  withCommonOptions(command).action((ref: string, type: string, other: string, options: CommonOptions) =>
    asCaller(options, context, async (baton) => {
      const relation = await baton.tasks.createRelation(ref, { type, toTask: other });
      await show(context.output, options, relation, () => [`${ref} ${type} ${other}.`]);
    }),
  );
}

function addUnrelate(task: Command, context: CommandContext): void {
  const command = task.command('unrelate <ref> <type> <other>').description('remove such a relation');
  withCommonOptions(command).action((ref: string, type: string, other: string, options: CommonOptions) =>
    asCaller(options, context, async (baton) => {
      const [{ id: from }, { id: to }] = [await baton.tasks.get(ref), await baton.tasks.get(other)];
      const { items } = await baton.tasks.listRelations(ref);
      const found = items.find((one) => one.fromTaskId === from && one.toTaskId === to && one.type === type);
      if (found === undefined)
        throw new PlainError(
          `${ref} has no such relation: ${invocation()} task view ${ref} --comments shows them.`,
        );
      await baton.tasks.deleteRelation(ref, found.id);
      await show(context.output, options, found, () => [`${ref} does not ${type} ${other} any more.`]);
    }),
  );
}
