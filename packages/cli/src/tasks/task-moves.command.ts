import type { Command } from 'commander';
import { type BatonClient, etagOf, type Task } from '@baton/sdk';
import { invocation } from '../../../../bin/invocation.mjs';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { PlainError } from '../plain-error.ts';
import { responseOf } from '../result-form.ts';
import { show } from '../show.ts';
import { answersIn, fieldOption, readTaskForm, writeAnswers } from './task-form.ts';
import { prerequisitesIn } from './why-lines.ts';

type CloseOptions = CommonOptions & { force?: boolean; field?: string[] };

/** `baton task close`, `cancel`, `make-available`, `relate` and `unrelate`. */
export function addTaskMoves(task: Command, context: CommandContext): void {
  addClose(task, context);
  addCancel(task, context);
  addMakeAvailable(task, context);
  addRelate(task, context);
  addUnrelate(task, context);
}

function addClose(task: Command, context: CommandContext): void {
  withCommonOptions(
    task
      .command('close <ref>')
      .description('complete a task without a lease; fails while prerequisites are open'),
    responseOf('completeTask'),
  )
    .option('--force', 'complete it even if prerequisites are open')
    .addOption(fieldOption())
    .action((ref: string, options: CloseOptions) =>
      asCaller(options, context, async (baton) => {
        const before = await baton.tasks.get(ref);
        const answers = answersIn(options.field ?? [], ref, await readTaskForm(baton, before));
        if (options.force !== true) await refuseOpenPrerequisites(baton, ref);
        const answered = await writeAnswers(baton, before, answers);
        const closed = await baton.tasks.complete(ref, {}, { ifMatch: etagOf(answered) });
        await show(context.output, options, closed, () => [`${closed.publicId} is ${closed.status}.`]);
      }),
    );
}

/** `baton task make-available`: ends the pause after a failed attempt. */
function addMakeAvailable(task: Command, context: CommandContext): void {
  withCommonOptions(
    task
      .command('make-available <ref>')
      .description('end the pause of a task after a failed attempt, so that it is offered again'),
    responseOf('makeTaskAvailable'),
  ).action((ref: string, options: CommonOptions) =>
    asCaller(options, context, async (baton) => {
      const made = await baton.tasks.makeAvailable(ref);
      await show(context.output, options, made, () => [
        `${made.publicId} is no longer paused${holdOf(made)}.`,
      ]);
    }),
  );
}

/** The reason why a task without a pause isn't offered: its status or its start date. */
function holdOf({ publicId, status, systemStatusCategory, availableAt }: Task): string {
  if (systemStatusCategory === 'blocked')
    return `, but its status ${status} holds it back: ${invocation()} task edit ${publicId} --status STATUS`;
  return availableAt === null ? '' : `; its start date holds it back until ${availableAt}`;
}

/** The service lets a person complete a task before its prerequisites. @throws PlainError that lists them */
async function refuseOpenPrerequisites(baton: BatonClient, ref: string): Promise<void> {
  const { reasons } = await baton.tasks.getClaimability(ref);
  const waits = reasons.find(({ code }) => code === 'task_not_ready');
  if (waits !== undefined)
    throw new PlainError(
      `${ref} has open prerequisites: ${prerequisitesIn(waits)}. Complete them first, or pass --force.`,
    );
}

function addCancel(task: Command, context: CommandContext): void {
  withCommonOptions(
    task.command('cancel <ref>').description('cancel a task'),
    responseOf('updateTask'),
  ).action((ref: string, options: CommonOptions) =>
    asCaller(options, context, async (baton) => {
      const ifMatch = etagOf(await baton.tasks.get(ref));
      const { targets } = await baton.tasks.listTransitions(ref);
      const end = targets.find(({ systemStatusCategory }) => systemStatusCategory === 'terminal_cancelled');
      if (end === undefined) throw new PlainError(`${ref} can't be cancelled from its status.`);
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
  withCommonOptions(command, responseOf('createTaskRelation')).action(
    (ref: string, type: string, other: string, options: CommonOptions) =>
      asCaller(options, context, async (baton) => {
        const relation = await baton.tasks.createRelation(ref, { type, toTask: other });
        await show(context.output, options, relation, () => [`${ref} ${type} ${other}.`]);
      }),
  );
}

function addUnrelate(task: Command, context: CommandContext): void {
  const command = task.command('unrelate <ref> <type> <other>').description('remove a relation');
  withCommonOptions(command, responseOf('listTaskRelations')).action(
    (ref: string, type: string, other: string, options: CommonOptions) =>
      asCaller(options, context, async (baton) => {
        const [{ id: from }, { id: to }] = [await baton.tasks.get(ref), await baton.tasks.get(other)];
        const { items } = await baton.tasks.listRelations(ref);
        const found = items.find(
          (one) => one.fromTaskId === from && one.toTaskId === to && one.type === type,
        );
        if (found === undefined)
          throw new PlainError(
            `${ref} has no such relation: ${invocation()} task view ${ref} --comments shows them.`,
          );
        await baton.tasks.deleteRelation(ref, found.id);
        await show(context.output, options, found, () => [
          `${ref} no longer has the relation ${type} to ${other}.`,
        ]);
      }),
  );
}
