import type { Command } from 'commander';
import open from 'open';
import type { BatonClient, Task, TaskComment } from '@baton/sdk';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { fieldLines } from '../resources/resource.command.ts';
import { listFieldNames, requireFields, responseOf } from '../result-form.ts';
import { namesIn, show } from '../show.ts';
import { commentLines, readNames, readSurroundings, shownComments, summaryLines } from './task-summary.ts';

type ViewOptions = CommonOptions & { comments?: boolean; fields?: string; web?: boolean };

const shownMax = 200;
const pageMax = 200;
/** The service lists the oldest comments first: this many are read to find the newest ones. */
const commentsReadMax = 10_000;

/** The last comments of a task, the newest last. */
interface Said {
  readonly comments: readonly TaskComment[];
  readonly older: number;
  /** Whether the task has more comments than were read. */
  readonly isCut: boolean;
}

const viewed = responseOf('getTask', 'relations', 'comments', 'olderComments', 'url');

/** `baton task view` and `baton task comments`: a task with its context. */
export function addTaskView(task: Command, context: CommandContext): void {
  const view = task
    .command('view <ref>')
    .description('show a task: its state, assignee, result and latest comments');
  withCommonOptions(view, viewed)
    .option('--comments', 'with its relations and all comments')
    .option(
      '--fields <names>',
      'these fields of its record instead, separated by commas; `all` is every field',
    )
    .option('--web', 'open it in the console instead')
    .action((ref: string, options: ViewOptions) => {
      const fields = fieldsIn(options.fields);
      return asCaller(options, context, async (baton, { coordinationUrl }) => {
        const found = await baton.tasks.get(ref);
        if (options.web === true)
          return openInConsole(`${coordinationUrl}/tasks/${found.publicId}`, options, context);
        if (options.comments === true) return showWithComments(baton, found, options, context);
        if (fields !== undefined)
          return show(context.output, options, found, () => fieldLines(picked(found, fields)));
        if (isForProgram(options)) return show(context.output, options, found, () => []);
        const { comments, older } = await readComments(baton, ref);
        const around = await readSurroundings(baton, found, authorsOf(comments.slice(-shownComments)));
        await show(context.output, options, found, () => summaryLines(found, around, comments, older));
      });
    });
  withCommonOptions(
    task.command('comments <ref>').description('list the comments of a task, the newest last'),
    responseOf('listTaskComments', 'older'),
  ).action((ref: string, options: CommonOptions) =>
    asCaller(options, context, async (baton) => {
      const said = await readComments(baton, ref);
      const { comments, older } = said;
      const lines = comments.length === 0 ? [`${ref} has no comments.`] : await saidLines(baton, said);
      await show(context.output, options, { items: comments, older }, () => lines);
    }),
  );
}

const isForProgram = ({ json, jq }: CommonOptions) => Boolean(json) || jq !== undefined;

/** @throws PlainError for an unknown field */
function fieldsIn(given: string | undefined): readonly string[] | undefined {
  if (given === undefined) return undefined;
  const known = listFieldNames(responseOf('getTask'));
  if (given === 'all') return known;
  const names = namesIn(given);
  requireFields(names, known);
  return names;
}

function picked(task: Task, names: readonly string[]): Record<string, unknown> {
  const record = task as unknown as Readonly<Record<string, unknown>>;
  return Object.fromEntries(names.map((name) => [name, record[name]]));
}

async function openInConsole(url: string, options: ViewOptions, { output }: CommandContext): Promise<void> {
  await show(output, options, { url }, () => [url]);
  // Without a terminal, for example in a script, opening a browser would be unexpected.
  if (output.isTerminal) await open(url).catch(() => undefined);
}

async function showWithComments(
  baton: BatonClient,
  task: Task,
  options: ViewOptions,
  { output }: CommandContext,
): Promise<void> {
  const said = await readComments(baton, task.id);
  const { comments, older: olderComments } = said;
  const { items: relations } = await baton.tasks.listRelations(task.id);
  const value = { ...task, relations, comments, olderComments };
  if (isForProgram(options)) return show(output, options, value, () => []);
  const around = await readSurroundings(baton, task, []);
  const related = relations.map((one) => relationLine(one, task));
  const lines = [
    ...summaryLines(task, around, [], 0),
    ...(related.length === 0 ? [] : ['', ...related]),
    ...(comments.length === 0 ? [] : ['', ...(await saidLines(baton, said))]),
  ];
  await show(output, options, value, () => lines);
}

async function readComments(baton: BatonClient, ref: string): Promise<Said> {
  const last: TaskComment[] = [];
  let older = 0;
  for await (const comment of baton.tasks.listComments(ref, { limit: pageMax })) {
    if (older + last.length === commentsReadMax) return { comments: last, older, isCut: true };
    last.push(comment);
    if (last.length <= shownMax) continue;
    last.shift();
    older += 1;
  }
  return { comments: last, older, isCut: false };
}

const authorsOf = (comments: readonly TaskComment[]) => comments.map((one) => one.authorPrincipalId);

async function saidLines(baton: BatonClient, { comments, older, isCut }: Said): Promise<string[]> {
  const nameOf = await readNames(baton, authorsOf(comments));
  return [
    ...(older === 0 ? [] : [`${older} older comment${older === 1 ? ' is' : 's are'} not shown.`, '']),
    ...comments.flatMap((one, at) => [...(at === 0 ? [] : ['']), ...commentLines(one, nameOf)]),
    ...(isCut ? ['', `Only the first ${commentsReadMax} were read: newer ones are not shown.`] : []),
  ];
}

function relationLine(
  { type, fromTaskId, toTaskId }: { type: string; fromTaskId: string; toTaskId: string },
  { id }: Task,
): string {
  return fromTaskId === id ? `${type}  ${toTaskId}` : `${fromTaskId}  ${type} this`;
}
