import type { Command } from 'commander';
import open from 'open';
import type { BatonClient, Task, TaskComment } from '@baton/sdk';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { fieldLines } from '../resources/resource.command.ts';
import { show } from '../show.ts';

type ViewOptions = CommonOptions & { comments?: boolean; web?: boolean };

const commentsMax = 200;

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
        const comments = await commentsOf(baton, ref);
        const { items: relations } = await baton.tasks.listRelations(ref);
        await show(context.output, options, { ...found, relations, comments }, () => [
          ...fieldLines({ ...found }),
          ...relations.map((one) => relationLine(one, found)),
          ...comments.flatMap(commentLines),
        ]);
      }),
    );
  withCommonOptions(
    task.command('comments <ref>').description('list what was said on a task, the newest last'),
  ).action((ref: string, options: CommonOptions) =>
    asCaller(options, context, async (baton) => {
      const comments = await commentsOf(baton, ref);
      await show(context.output, options, { items: comments }, () =>
        comments.length === 0 ? [`Nothing was said on ${ref}.`] : comments.flatMap(commentLines).slice(1),
      );
    }),
  );
}

async function commentsOf(baton: BatonClient, ref: string): Promise<TaskComment[]> {
  const comments: TaskComment[] = [];
  for await (const comment of baton.tasks.listComments(ref, { limit: commentsMax })) {
    comments.push(comment);
    if (comments.length === commentsMax) break;
  }
  return comments.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1));
}

/** What somebody else wrote must not move the terminal's cursor; its lines stay. */
function commentLines({ authorPrincipalId, createdAt, body }: TaskComment): string[] {
  const lines = body.split('\n').map((line) => `  ${line.replaceAll(/[\p{Cc}\p{Cf}]+/gu, ' ')}`);
  return ['', `${createdAt}  ${authorPrincipalId}`, ...lines];
}

function relationLine(
  { type, fromTaskId, toTaskId }: { type: string; fromTaskId: string; toTaskId: string },
  { id }: Task,
): string {
  return fromTaskId === id ? `${type}  ${toTaskId}` : `${fromTaskId}  ${type} this`;
}
