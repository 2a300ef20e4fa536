import type { Command } from 'commander';
import open from 'open';
import type { BatonClient, Task, TaskComment } from '@baton/sdk';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { fieldLines } from '../resources/resource.command.ts';
import { show } from '../show.ts';

type ViewOptions = CommonOptions & { comments?: boolean; web?: boolean };

const shownMax = 200;
const pageMax = 200;
/** The service lists the oldest first: so many are read for those that were said last. */
const commentsReadMax = 10_000;

/** What was said last on a task, the newest last. */
interface Said {
  readonly comments: readonly TaskComment[];
  readonly older: number;
  /** Whether there are more comments than are read. */
  readonly isCut: boolean;
}

/** `baton task view` and `baton task comments`: a task with what stands around it. */
export function addTaskView(task: Command, context: CommandContext): void {
  const view = task
    .command('view <ref>')
    .alias('show')
    .description('show a task, with what was said on it or in the console');
  withCommonOptions(view)
    .option('--comments', 'with its relations and comments')
    .option('--web', 'open it in the console instead')
    .action((ref: string, options: ViewOptions) =>
      asCaller(options, context, async (baton, { coordinationUrl }) => {
        const found = await baton.tasks.get(ref);
        if (options.web === true) {
          const url = `${coordinationUrl}/tasks/${found.publicId}`;
          await show(context.output, options, { url }, () => [url]);
          // Elsewhere, as in a script, a browser would surprise.
          if (context.output.isTerminal) await open(url).catch(() => undefined);
          return;
        }
        if (options.comments !== true)
          return show(context.output, options, found, () => fieldLines({ ...found }));
        const said = await commentsOf(baton, ref);
        const { comments, older: olderComments } = said;
        const { items: relations } = await baton.tasks.listRelations(ref);
        await show(context.output, options, { ...found, relations, comments, olderComments }, () => [
          ...fieldLines({ ...found }),
          ...relations.map((one) => relationLine(one, found)),
          ...saidLines(said),
        ]);
      }),
    );
  withCommonOptions(
    task.command('comments <ref>').description('list what was said on a task, the newest last'),
  ).action((ref: string, options: CommonOptions) =>
    asCaller(options, context, async (baton) => {
      const said = await commentsOf(baton, ref);
      const { comments, older } = said;
      await show(context.output, options, { items: comments, older }, () =>
        comments.length === 0 ? [`Nothing was said on ${ref}.`] : saidLines(said).slice(1),
      );
    }),
  );
}

async function commentsOf(baton: BatonClient, ref: string): Promise<Said> {
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

function saidLines({ comments, older, isCut }: Said): string[] {
  return [
    ...(older === 0 ? [] : ['', `${older} older comment${older === 1 ? ' is' : 's are'} not shown.`]),
    ...comments.flatMap(commentLines),
    ...(isCut ? ['', `Only the first ${commentsReadMax} were read: newer ones are not shown.`] : []),
  ];
}

function commentLines({ authorPrincipalId, createdAt, body }: TaskComment): string[] {
  const lines = body.split('\n').map((line) => `  ${line}`);
  return ['', `${createdAt}  ${authorPrincipalId}`, ...lines];
}

function relationLine(
  { type, fromTaskId, toTaskId }: { type: string; fromTaskId: string; toTaskId: string },
  { id }: Task,
): string {
  return fromTaskId === id ? `${type}  ${toTaskId}` : `${fromTaskId}  ${type} this`;
}
