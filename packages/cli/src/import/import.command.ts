import { basename, extname } from 'node:path';
import type { Command } from 'commander';
import { invocation } from '../../../../bin/invocation.mjs';
import { readDocuments, TextFault } from '../apply/yaml-documents.ts';
import { openAttempt } from '../attempt-keys.ts';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { confirm } from '../confirm.ts';
import { exitCodes } from '../error-text.ts';
import { PlainError } from '../plain-error.ts';
import { fieldsNamed } from '../result-form.ts';
import { show } from '../show.ts';
import { readBacklogMd } from './forms/backlog-md.ts';
import { readExport } from './forms/baton.ts';
import { readBeads } from './forms/beads.ts';
import { readCsvTasks } from './forms/csv.ts';
import { readGithub } from './forms/github.ts';
import { readTaskmaster } from './forms/taskmaster.ts';
import { planLines, resultItems, resultLines } from './import-report.ts';
import { readSourceText, visible } from './read-source.ts';
import { planImport, runImport } from './run-import.ts';
import type { Source, SourceStatus } from './source.ts';
import { findTargets } from './targets.ts';
import { plainWord, type Words } from './words.ts';

interface Options extends CommonOptions {
  readonly workspace?: string;
  readonly type?: string;
  readonly people?: string;
  readonly status: ReadonlyMap<string, SourceStatus>;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly source?: string;
  readonly map?: string;
  readonly delimiter?: string;
}

/** The values of a repeated option are joined with commas. */
type FormOption = readonly [flags: string, description: string, isSeveral?: 'several'];

interface Form {
  readonly usage: string;
  readonly summary: string;
  readonly options?: readonly FormOption[];
  read(path: string, words: Words, options: Options): Promise<Source>;
}

const ofSource = [
  '--source <name>',
  'the namespace of the ids, if several sources use the same ids',
] as const;

const forms: readonly Form[] = [
  {
    usage: 'beads <file>',
    summary: 'import beads issues, one JSON object per line; - is standard input',
    read: async (path, words) => readBeads(await readSourceText(path), nameOf(path), words),
  },
  {
    usage: 'github <file>',
    summary: 'import GitHub issues, from its REST API or gh issue list --json',
    options: [['--source <owner/repo>', 'the repository, if the issues contain no address']],
    read: async (path, words, { source }) =>
      readGithub(await readSourceText(path), nameOf(path), words, source),
  },
  {
    usage: 'backlog-md <folder>',
    summary: 'import a folder of Backlog.md',
    options: [ofSource],
    read: (path, words, { source }) => readBacklogMd(path, words, source),
  },
  {
    usage: 'csv <file>',
    summary: 'import comma-separated values with a header',
    options: [
      [
        '--map <fields>',
        'the column of each field, such as title=Summary,id=Key,id=Number; detected by default',
        'several',
      ],
      ['--delimiter <character>', 'the cell separator; detected by default'],
      ofSource,
    ],
    read: async (path, words, { source, map, delimiter }) =>
      readCsvTasks(await readSourceText(path), nameOf(path), words, {
        source: source ?? basename(path, extname(path)),
        ...(map !== undefined && { map }),
        ...(delimiter !== undefined && { delimiter: delimiterIn(delimiter) }),
      }),
  },
  {
    usage: 'taskmaster <path>',
    summary: 'import .taskmaster/tasks/tasks.json of claude-task-master, or a project with it',
    options: [ofSource],
    read: (path, words, { source }) => readTaskmaster(path, words, source),
  },
  {
    usage: 'baton <file>',
    summary: 'import the tasks of another Baton from a file of baton export',
    read: async (path) => readExport(await readSourceText(path), nameOf(path)),
  },
];

/** `baton import …`: imports tasks from other trackers, after showing a plan; docs/import.md. */
export function addImport(program: Command, context: CommandContext): void {
  const group = program.command('import').description('import tasks from another tracker');
  for (const form of forms) addForm(group, form, context);
}

function addForm(group: Command, form: Form, context: CommandContext): void {
  const command = withCommonOptions(
    group.command(form.usage).description(form.summary),
    fieldsNamed('externalId', 'action', 'fields', 'taskId', 'failure'),
  );
  for (const [flags, description, isSeveral] of form.options ?? [])
    if (isSeveral === undefined) command.option(flags, description);
    else command.option(flags, description, joinedValues);
  command
    .option('--workspace <workspace>', 'the workspace of the tasks, by slug, name or id')
    .option('--type <key>', 'their task type; `task` by default')
    .option(
      '--people <file>',
      'a YAML or JSON file that maps names in the source to ids of principals in Baton, me or agent:KEY',
    )
    .option(
      '--status <words>',
      'what statuses in the source mean, such as "QA=open,Shipped=done": open, backlog, blocked, done or cancelled',
      statusWords,
      new Map(),
    )
    .option('--yes', 'skip the prompt; required without a terminal')
    .option('--dry-run', 'only show the plan')
    .action((path: string, options: Options) => importFrom(form, path, options, context));
}

async function importFrom(
  form: Form,
  path: string,
  options: Options,
  context: CommandContext,
): Promise<void> {
  const people = options.people === undefined ? new Map<string, string>() : await peopleIn(options.people);
  const source = await form.read(path, { statuses: options.status }, options);
  const { output } = context;
  const isForProgram = Boolean(options.json) || options.jq !== undefined;
  // A program that reads both streams gets the JSON alone.
  const progress = isForProgram && !output.isTerminal ? { ...output, progress: () => undefined } : output;
  await asCaller(options, context, async (baton, access) => {
    await refuseOwnExport(source, async () => (await baton.harness.getContext()).tenant.id);
    const attempt = await openAttempt(baton, access, context.config, {
      command: 'import',
      content: [source.system, source.type, ...source.items],
    });
    const targets = await findTargets(baton, source, { ...options, people });
    const plan = await planImport(baton, source, targets, progress);
    const report = (result?: Awaited<ReturnType<typeof runImport>>) =>
      show(output, options, resultItems(plan, result), () =>
        result === undefined ? [] : resultLines(result),
      );
    if (!isForProgram) for (const line of planLines(plan)) output.line(line);
    if (options.dryRun === true || plan.changes.every(({ action }) => action === 'unchanged'))
      return report();
    if (options.yes !== true) {
      if (isForProgram) output.progress(`${planLines(plan).join('\n')}\n`);
      await confirm('Import the tasks?', path === '-', output);
    }
    const result = await runImport(baton, plan, targets, progress, attempt);
    await report(result);
    if (result.failed.size > 0) process.exitCode = exitCodes.failed;
  });
}

/** The tasks of an export already exist in its own tenant. */
async function refuseOwnExport(source: Source, ownTenant: () => Promise<string>): Promise<void> {
  const { tenant } = source as { tenant?: { readonly id: string; readonly slug: string } };
  if (tenant !== undefined && (await ownTenant()) === tenant.id)
    throw new PlainError(
      `This export comes from the tenant that you are signed in to (${visible(tenant.slug)}), so its tasks exist already. Select another profile with ${invocation()} context.`,
    );
}

const joinedValues = (given: string, before: string | undefined): string =>
  before === undefined ? given : `${before},${given}`;

const nameOf = (path: string): string => (path === '-' ? 'standard input' : visible(path));

function delimiterIn(given: string): string {
  const delimiter = given === 'tab' || given === '\\t' ? '\t' : given;
  if (delimiter.length !== 1 || /["\r\n]/.test(delimiter))
    throw usageError('--delimiter must be one character, or tab.');
  return delimiter;
}

const statuses: readonly SourceStatus[] = ['open', 'backlog', 'blocked', 'done', 'cancelled'];

function statusWords(given: string, before: ReadonlyMap<string, SourceStatus>): Map<string, SourceStatus> {
  const found = new Map(before);
  for (const part of given.split(',').filter((one) => one.trim() !== '')) {
    const at = part.lastIndexOf('=');
    const status = statuses.find((one) => one === part.slice(at + 1).trim());
    if (at < 1 || status === undefined)
      throw usageError(`--status takes WORD=STATUS with ${statuses.join(', ')}, not ${part.trim()}.`);
    found.set(plainWord(part.slice(0, at)), status);
  }
  return found;
}

const peopleBytesMax = 1024 * 1024;

async function peopleIn(path: string): Promise<Map<string, string>> {
  const text = await readSourceText(path, peopleBytesMax);
  let value: unknown;
  try {
    value = readDocuments(text)[0]?.value;
  } catch (error) {
    if (!(error instanceof TextFault)) throw error;
    throw usageError(`${visible(path)}:${error.position.line}: ${error.message}.`);
  }
  const entries =
    typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  if (entries.length === 0)
    throw usageError(`${visible(path)} maps no names to ids: it must contain lines such as worker-01: me.`);
  const [wrong] = entries.find(([, id]) => typeof id !== 'string') ?? [];
  if (wrong !== undefined)
    throw usageError(
      `${visible(path)} maps ${visible(wrong)} to a value that is not a string: put the id in quotes.`,
    );
  return new Map(entries as [string, string][]);
}

const usageError = (message: string) => new PlainError(message, { exitCode: exitCodes.usage });
