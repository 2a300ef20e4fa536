import type { Command } from 'commander';
import { type BatonClient, BatonError, type Task } from '@baton/sdk';
import { forEachConcurrently } from '@baton/values/concurrently';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { type ConsoleOutput, clearLine } from '../console-output.ts';
import { exportFormat } from '../import/forms/baton.ts';
import { fieldsNamed } from '../result-form.ts';
import { show } from '../show.ts';
import { type ExportLines, linesToNewFile, linesToOutput } from './export-lines.ts';
import { exportedKinds } from './exported-kinds.ts';
import { beyondImport } from './import-limits.ts';

type Options = CommonOptions & { file?: string; tasksOnly?: boolean };

/** The number of tasks whose relations, comments and references are read at a time. */
const concurrencyMax = 16;
const batchTasks = 200;

interface Exported {
  readonly counts: Record<string, number>;
  readonly leftOut: { readonly kind: string; readonly reason: string }[];
  bytes: number;
}

/** `baton export`: a whole tenant as JSON lines, which `baton import baton` reads; see docs/import.md. */
export function addExport(program: Command, context: CommandContext): void {
  const command = program
    .command('export')
    .description('write what your tenant owns as JSON lines, for `baton import baton`');
  withCommonOptions(command, fieldsNamed('counts', 'leftOut', 'bytes'))
    .option('--file <path>', 'write to this new file (mode 0600) instead of standard output')
    .option('--tasks-only', 'only tasks, and the people and workspaces that they reference')
    .action((options: Options) =>
      asCaller(options, context, async (baton) => {
        const lines =
          options.file === undefined ? linesToOutput(context.output) : await linesToNewFile(options.file);
        const counter = counterOf(context.output);
        let exported: Exported;
        try {
          exported = await exportAll(baton, lines, options, counter.count);
          await lines.finish();
        } catch (error) {
          await lines.abandon();
          throw error;
        } finally {
          counter.end();
        }
        await report(exported, options, context);
      }),
    );
}

const drawEveryMs = 200;

/** Shows progress on a terminal; no list has a total count. */
function counterOf(output: ConsoleOutput): { count(kind: string): void; end(): void } {
  let [written, drawnAt] = [0, 0];
  return {
    count(kind) {
      written += 1;
      if (!output.isTerminal || performance.now() - drawnAt < drawEveryMs) return;
      drawnAt = performance.now();
      output.progress(`${clearLine}exporting  ${written}  ${kind}`);
    },
    end() {
      if (drawnAt > 0) output.progress(clearLine);
    },
  };
}

/** Standard output contains the lines, unless they go to a file. */
async function report(
  exported: Exported,
  { file, ...options }: Options,
  { output }: CommandContext,
): Promise<void> {
  const sum = Object.values(exported.counts).reduce((total, count) => total + count, 0);
  const text = [
    ...exported.leftOut.map(({ kind, reason }) => `! ${kind}: ${reason}`),
    ...beyondImport({ tasks: exported.counts['task'] ?? 0, bytes: exported.bytes }).map((why) => `! ${why}`),
    `${sum} exported: ${Object.entries(exported.counts)
      .filter(([, count]) => count > 0)
      .map(([kind, count]) => `${count} ${kind}`)
      .join(', ')}.`,
  ];
  if (file === undefined) output.progress(`${text.join('\n')}\n`);
  else await show(output, options, exported, () => text);
}

const whoAndWhere: readonly string[] = ['principal', 'workspace'];

async function exportAll(
  baton: BatonClient,
  lines: ExportLines,
  { tasksOnly }: Options,
  onItem: (kind: string) => void,
): Promise<Exported> {
  const { tenant } = await baton.harness.getContext();
  const exported: Exported = { counts: {}, leftOut: [], bytes: 0 };
  const write = async (value: object) => {
    const line = JSON.stringify(value);
    exported.bytes += Buffer.byteLength(line) + 1;
    await lines.write(line);
  };
  await write({ kind: 'export', format: exportFormat, tenant, exportedAt: new Date().toISOString() });
  for (const { kind, list } of exportedKinds) {
    if (tasksOnly === true && !whoAndWhere.includes(kind)) continue;
    await counted(exported, kind, async (count) => {
      for await (const value of list(baton)) {
        await write({ kind, value });
        count();
        onItem(kind);
      }
    });
  }
  await counted(exported, 'task', async (count) => {
    for await (const batch of batchesOf(baton.tasks.list({ limit: batchTasks }))) {
      const more = new Map<string, object>();
      await forEachConcurrently(batch, concurrencyMax, async (task) => {
        more.set(task.id, await besideOf(baton, task));
        onItem('task');
      });
      for (const task of batch) {
        await write({ kind: 'task', value: task, ...more.get(task.id) });
        count();
      }
    }
  });
  await write({ kind: 'end', counts: exported.counts, leftOut: exported.leftOut });
  return exported;
}

/** Objects that the caller may not read are omitted and reported. */
async function counted(
  { counts, leftOut }: Exported,
  kind: string,
  work: (count: () => void) => Promise<void>,
): Promise<void> {
  counts[kind] = 0;
  try {
    await work(() => {
      counts[kind] = (counts[kind] ?? 0) + 1;
    });
  } catch (error) {
    if (!(error instanceof BatonError) || error.status !== 403 || kind === 'task') throw error;
    leftOut.push({ kind, reason: `${error.code}: ${error.message}` });
  }
}

/** The relations, comments and external references of a task. */
async function besideOf(baton: BatonClient, { id }: Task): Promise<object> {
  const [relations, comments, references] = await Promise.all([
    baton.tasks.listRelations(id),
    allOf(baton.tasks.listComments(id, { limit: 200 })),
    allOf(baton.externalReferences.list({ entityType: 'task', entityId: id, limit: 200 })),
  ]);
  return {
    relations: relations.items
      .filter(({ fromTaskId }) => fromTaskId === id)
      .map(({ type, toTaskId }) => ({ type, toTaskId })),
    // The oldest first, in the order in which an import adds them.
    comments: comments.toSorted((a, b) => (a.createdAt < b.createdAt ? -1 : 1)),
    references: references.map(({ externalSystem, externalType, externalId, metadata }) => ({
      externalSystem,
      externalType,
      externalId,
      metadata,
    })),
  };
}

async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function* batchesOf<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item[]> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < batchTasks) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
