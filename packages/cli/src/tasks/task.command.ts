import { type Command, Option } from 'commander';
import { type BatonClient, BatonError, etagOf, type NewTask, type TaskChange } from '@baton/sdk';
import { invocation } from '../../../../bin/invocation.mjs';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { exitCodes } from '../error-text.ts';
import { readSourceText } from '../import/read-source.ts';
import { findPrincipalId, findProjectId, findTaskTypeId, findWorkspaceId } from '../names.ts';
import { PlainError } from '../plain-error.ts';
import { addResource } from '../resources/resource.command.ts';
import type { Resource } from '../resources/resource.ts';
import { responseOf } from '../result-form.ts';
import { show } from '../show.ts';
import { addTaskMoves } from './task-moves.command.ts';
import { holdersIn, readNames, unassigned } from './task-summary.ts';
import { addTaskView } from './task-view.command.ts';
import { whyLines } from './why-lines.ts';

type CreateOptions = CommonOptions &
  TaskFields & {
    description?: string;
    descriptionFile?: string;
    type?: string;
    workspace?: string;
    parent?: string;
    label: string[];
  };
type EditOptions = CommonOptions & TaskFields & { title?: string; description?: string; status?: string };

/**
 * @throws PlainError that lists the types if this one is unknown; does nothing for a caller who may not read types
 */
async function refuseUnknownType(baton: BatonClient, key: string): Promise<void> {
  await findTaskTypeId(baton, key).catch((error: unknown) => {
    if (!(error instanceof BatonError)) throw error;
  });
}

/** The service's limit for a request body. */
const descriptionBytesMax = 1024 * 1024;

interface TaskFields {
  readonly priority?: string;
  readonly assignee?: string;
  readonly start?: string;
  readonly due?: string;
}

async function fieldsIn(baton: BatonClient, { priority, assignee, start, due }: TaskFields) {
  return {
    ...(priority !== undefined && { priority }),
    ...(assignee !== undefined && { assigneeId: await findAssigneeId(baton, assignee) }),
    ...(start !== undefined && { startDate: start }),
    ...(due !== undefined && { dueDate: due }),
  };
}

/** @returns null for `none`, which unassigns the task; use the id of a principal with that name */
async function findAssigneeId(baton: BatonClient, assignee: string): Promise<string | null> {
  return assignee === unassigned ? null : findPrincipalId(baton, assignee);
}

/** `baton task …`: commands about tasks. */
export function addTask(program: Command, context: CommandContext): void {
  const task = addResource(program, { noun: 'task', summary: 'tasks', list }, context);
  addTaskView(task, context);
  addCreate(task, context);
  addEdit(task, context);
  addComment(task, context);
  addTaskMoves(task, context);
  addWhy(task, context);
}

const list: NonNullable<Resource['list']> = {
  operation: 'listTasks',
  columns: [
    ['ID', ({ publicId }) => publicId],
    ['STATUS', ({ status }) => status],
    ['PRIORITY', ({ priority }) => priority],
    ['TYPE', ({ typeKey }) => typeKey],
    ['TITLE', ({ title }) => title],
  ],
  filters: [
    ['--q <words>', 'with each of these words in title, description or id'],
    ['--status <status>', 'in this status'],
    ['--category <category>', 'backlog, active, blocked, terminal_success or terminal_cancelled'],
    ['--type <key>', 'of this type'],
    ['--priority <word>', 'critical, high, medium or low'],
    [
      '--assignee <principal>',
      'assigned to this name, e-mail address or id; `me` is yourself',
      findPrincipalId,
    ],
    [
      '--workspace <workspace>',
      'of this workspace, by slug, name or id, and those below it',
      findWorkspaceId,
    ],
    [
      '--project <project>',
      'of this project, by slug or name of its workspace or id, and those below it',
      findProjectId,
    ],
  ],
  async *call({ baton }, { category, type, assignee, workspace, project, ...query }) {
    let isEmpty = true;
    const found = baton.tasks.list({
      ...query,
      ...(category !== undefined && { systemStatusCategory: category as string }),
      ...(type !== undefined && { typeKey: type as string }),
      ...(assignee !== undefined && { assigneeId: assignee as string }),
      ...(workspace !== undefined && { workspaceId: workspace as string, includeDescendants: true }),
      ...(project !== undefined && { projectId: project as string, includeSubprojects: true }),
    });
    for await (const task of found) {
      isEmpty = false;
      yield task;
    }
    if (isEmpty && type !== undefined) await refuseUnknownType(baton, type as string);
  },
};

const priorities = ['critical', 'high', 'medium', 'low'];

function withFields(command: Command, operation: string): Command {
  return withCommonOptions(command, responseOf(operation))
    .addOption(new Option('--priority <word>', 'its priority').choices(priorities))
    .option(
      '--assignee <principal>',
      `its assignee: a name, an e-mail address or an id; \`me\` is yourself, \`${unassigned}\` leaves it unassigned`,
    )
    .option('--start <date>', 'its start date, such as 2026-12-24 or 2026-12-24T12:00:00Z')
    .option('--due <date>', 'its due date, such as 2026-12-24T12:00:00Z');
}

function addCreate(task: Command, context: CommandContext): void {
  withFields(task.command('create <title>').description('create a task'), 'createTask')
    .option('--description <text>', 'its description')
    .option('--description-file <file>', 'the same from a file; - is standard input')
    .option('--type <key>', 'its type; `task` by default')
    .option('--workspace <workspace>', 'its workspace, by slug, name or id')
    .option('--parent <ref>', 'its parent task')
    .option(
      '--label <text>',
      'a label, by which agents can select tasks; may be repeated',
      (label: string, before: string[]) => [...before, label],
      [],
    )
    .action((title: string, options: CreateOptions) =>
      asCaller(options, context, async (baton) => {
        const { type, workspace, parent, label } = options;
        const description = await descriptionOf(options);
        const task: NewTask = {
          title,
          ...(description !== undefined && { description }),
          ...(await fieldsIn(baton, options)),
          ...(type !== undefined && { typeKey: type }),
          ...(workspace !== undefined && { workspaceId: await findWorkspaceId(baton, workspace) }),
          ...(parent !== undefined && { parentTask: parent }),
          ...(label.length > 0 && { customFields: { labels: label } }),
        };
        const created = await baton.tasks.create(task).catch(async (error: unknown) => {
          if (type !== undefined && error instanceof BatonError && error.status === 404)
            await refuseUnknownType(baton, type);
          throw error;
        });
        await show(context.output, options, created, () => [
          `${created.publicId} created: ${created.title} (${created.status}, priority ${created.priority}).`,
        ]);
      }),
    );
}

async function descriptionOf({
  description,
  descriptionFile: file,
}: CreateOptions): Promise<string | undefined> {
  if (file === undefined) return description;
  if (description !== undefined)
    throw new PlainError('Give the description by --description or by --description-file, not by both.', {
      exitCode: exitCodes.usage,
    });
  return readSourceText(file, descriptionBytesMax);
}

function addEdit(task: Command, context: CommandContext): void {
  withFields(task.command('edit <ref>').description('change a task'), 'updateTask')
    .option('--title <text>', 'its title')
    .option('--description <text>', 'its description')
    .option('--status <status>', 'its new status; baton task view shows the current one')
    .action((ref: string, options: EditOptions) =>
      asCaller(options, context, async (baton) => {
        const { title, description, status } = options;
        const change: TaskChange = {
          ...(title !== undefined && { title }),
          ...(description !== undefined && { description }),
          ...(status !== undefined && { status }),
          ...(await fieldsIn(baton, options)),
        };
        if (Object.keys(change).length === 0)
          throw new PlainError(`Name what to change: ${invocation()} task edit --help.`, {
            exitCode: exitCodes.usage,
          });
        const ifMatch = etagOf(await baton.tasks.get(ref));
        const changed = await baton.tasks.update(ref, change, { ifMatch });
        await show(context.output, options, changed, () => [
          `${changed.publicId} is changed: ${changed.title} (${changed.status}, priority ${changed.priority}).`,
        ]);
      }),
    );
}

function addComment(task: Command, context: CommandContext): void {
  withCommonOptions(
    task.command('comment <ref> <text>').description('comment on a task'),
    responseOf('createTaskComment'),
  ).action((ref: string, body: string, options: CommonOptions) =>
    asCaller(options, context, async (baton) => {
      const comment = await baton.tasks.createComment(ref, { body });
      await show(context.output, options, comment, () => [`Commented on ${ref}.`]);
    }),
  );
}

function addWhy(task: Command, context: CommandContext): void {
  const command = task.command('why <ref>').description('show why a task is not available, and the remedies');
  withCommonOptions(command, responseOf('getTaskClaimability')).action(
    (ref: string, options: CommonOptions) =>
      asCaller(options, context, async (baton) => {
        const answer = await baton.tasks.getClaimability(ref);
        const nameOf = await readNames(baton, holdersIn(answer));
        await show(context.output, options, answer, () => whyLines(ref, answer, nameOf));
      }),
  );
}
