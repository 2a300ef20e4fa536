import type { Command } from 'commander';
import { etagOf, type TaskChange, type TaskClaimability } from '@baton/sdk';
import { invocation } from '../../../../bin/invocation.mjs';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { exitCodes } from '../error-text.ts';
import { readSourceText } from '../import/reading.ts';
import { PlainError } from '../plain-error.ts';
import { addResource } from '../resources/resource.command.ts';
import type { Resource } from '../resources/resource.ts';
import { show } from '../show.ts';
import { addTaskMoves } from './task-moves.command.ts';
import { addTaskView } from './task-view.command.ts';

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

/** As the largest request of the service. */
const descriptionBytesMax = 1024 * 1024;

interface TaskFields {
  readonly priority?: string;
  readonly assignee?: string;
  readonly due?: string;
}

/** `baton task …`: everything about tasks that a person does at a terminal. */
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
  columns: [
    ['ID', ({ publicId }) => publicId],
    ['STATUS', ({ status }) => status],
    ['PRIORITY', ({ priority }) => priority],
    ['TYPE', ({ typeKey }) => typeKey],
    ['TITLE', ({ title }) => title],
  ],
  filters: [
    ['--q <words>', 'whose title, description or id has each of these words'],
    ['--status <status>', 'in this status'],
    ['--category <category>', 'backlog, active, blocked, terminal_success or terminal_cancelled'],
    ['--type <key>', 'of this type'],
    ['--priority <word>', 'critical, high, medium or low'],
    ['--assignee <id>', 'assigned to this principal; `me` is yourself'],
    ['--workspace <id>', 'of this workspace and those below it'],
    ['--project <id>', 'of this project and those below it'],
  ],
  async *call({ baton }, { category, type, assignee, workspace, project, ...query }) {
    const me = assignee === 'me' ? (await baton.harness.getContext()).principal.id : assignee;
    yield* baton.tasks.list({
      ...query,
      ...(category !== undefined && { systemStatusCategory: category as string }),
      ...(type !== undefined && { typeKey: type as string }),
      ...(me !== undefined && { assigneeId: me as string }),
      ...(workspace !== undefined && { workspaceId: workspace as string, includeDescendants: true }),
      ...(project !== undefined && { projectId: project as string, includeSubprojects: true }),
    });
  },
};

function withFields(command: Command): Command {
  return withCommonOptions(command)
    .option('--priority <word>', 'critical, high, medium or low')
    .option('--assignee <id>', 'whose task it is; `me` is yourself')
    .option('--due <date>', 'when it is due, as 2026-12-24T12:00:00Z');
}

function addCreate(task: Command, context: CommandContext): void {
  withFields(task.command('create <title>').description('create a task'))
    .option('--description <text>', 'what is to be done')
    .option('--description-file <file>', 'the same from a file; - is standard input')
    .option('--type <key>', 'its type; `task` without it')
    .option('--workspace <id>', 'where it belongs')
    .option('--parent <ref>', 'the task that it is a part of')
    .option(
      '--label <text>',
      'a label, which agents choose by; may be repeated',
      (label: string, before: string[]) => [...before, label],
      [],
    )
    .action((title: string, options: CreateOptions) =>
      asCaller(options, context, async (baton) => {
        const { priority, assignee, due, type, workspace, parent, label } = options;
        const description = await descriptionOf(options);
        const created = await baton.tasks.create({
          title,
          ...(description !== undefined && { description }),
          ...(priority !== undefined && { priority }),
          ...(assignee !== undefined && { assigneeId: await idOf(baton, assignee) }),
          ...(due !== undefined && { dueDate: due }),
          ...(type !== undefined && { typeKey: type }),
          ...(workspace !== undefined && { workspaceId: workspace }),
          ...(parent !== undefined && { parentTask: parent }),
          ...(label.length > 0 && { customFields: { labels: label } }),
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
  withFields(task.command('edit <ref>').description('change a task'))
    .option('--title <text>', 'its title')
    .option('--description <text>', 'what is to be done')
    .option('--status <status>', 'where it stands; baton task view shows its status')
    .action((ref: string, options: EditOptions) =>
      asCaller(options, context, async (baton) => {
        const { title, description, status, priority, assignee, due } = options;
        const change: TaskChange = {
          ...(title !== undefined && { title }),
          ...(description !== undefined && { description }),
          ...(status !== undefined && { status }),
          ...(priority !== undefined && { priority }),
          ...(assignee !== undefined && { assigneeId: await idOf(baton, assignee) }),
          ...(due !== undefined && { dueDate: due }),
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
  withCommonOptions(task.command('comment <ref> <text>').description('say something on a task')).action(
    (ref: string, body: string, options: CommonOptions) =>
      asCaller(options, context, async (baton) => {
        const comment = await baton.tasks.createComment(ref, { body });
        await show(context.output, options, comment, () => [`Said on ${ref}.`]);
      }),
  );
}

function addWhy(task: Command, context: CommandContext): void {
  const command = task
    .command('why <ref>')
    .description('say why a task does not move, and what would move it');
  withCommonOptions(command).action((ref: string, options: CommonOptions) =>
    asCaller(options, context, async (baton) => {
      const answer = await baton.tasks.getClaimability(ref);
      await show(context.output, options, answer, () => whyLines(ref, answer));
    }),
  );
}

function whyLines(ref: string, { claimable, reasons }: TaskClaimability): string[] {
  if (reasons.length === 0)
    return [
      claimable ? `${ref} can be taken now: ${invocation()} work take ${ref}` : `${ref} can't be taken.`,
    ];
  return reasons.flatMap(({ code, since, remedies }) => [
    `${code}${since === null ? '' : `, since ${since}`}`,
    ...remedies.map(
      ({ act, method, path, permission, allowed }) =>
        `  ${act}: ${invocation()} api ${method} ${path}${allowed ? '' : ` (needs ${permission}, which you lack)`}`,
    ),
  ]);
}

async function idOf(baton: Parameters<Parameters<typeof asCaller>[2]>[0], name: string): Promise<string> {
  return name === 'me' ? (await baton.harness.getContext()).principal.id : name;
}
