import type { Command } from 'commander';
import { BatonError } from '@baton/sdk';
import { keysNotKept, openAttempt } from '../attempt-keys.ts';
import { asCaller, type CommandContext, type CommonOptions, withCommonOptions } from '../command-context.ts';
import { confirm } from '../confirm.ts';
import { PlainError } from '../plain-error.ts';
import { Progress } from '../progress.ts';
import { fieldsNamed } from '../result-form.ts';
import { show } from '../show.ts';
import type { Change, Planning } from './change.ts';
import { declaredIn, onOneLine, Problems } from './documents.ts';
import { readFiles } from './files.ts';
import { describeRejection, planAll } from './plan.ts';
import { planLines } from './plan-text.ts';
import { World } from './world.ts';
import { escapePointer } from './yaml-documents.ts';

type Options = CommonOptions & { file: string[]; yes?: boolean; dryRun?: boolean };

type Outcome = 'planned' | 'done' | 'failed' | 'not reached';

/** `baton apply`: creates and changes the objects that files declare, after showing a plan. */
export function addApply(program: Command, context: CommandContext): void {
  const command = program
    .command('apply')
    .description(
      'create and change the objects that YAML or JSON files declare, after showing a plan (docs/apply.md)',
    );
  withCommonOptions(
    command,
    fieldsNamed('kind', 'key', 'action', 'outcome', 'fields', 'note', 'file', 'line'),
  )
    .requiredOption('-f, --file <files...>', 'a file, a folder with its subfolders, or - for standard input')
    .option('--yes', 'skip the prompt; required without a terminal')
    .option('--dry-run', 'only show the plan; the exit code is 0 whether or not there are changes')
    .action((options: Options) => runApply(options, context));
}

async function runApply(options: Options, context: CommandContext): Promise<void> {
  const problems = new Problems();
  const declared = declaredIn(await readFiles(options.file), problems);
  problems.throwIfAny();
  await asCaller(options, context, async (baton, access) => {
    const content = declared.map(({ kind, key, spec }) => [kind, key, spec]);
    const attempt = await openAttempt(baton, access, context.config, { command: 'apply', content });
    const planning = { baton, access, attempt, world: new World(baton), problems, declared };
    const changes = await planAll(planning);
    problems.throwIfAny();
    const writing = changes.filter(({ action }) => action !== 'unchanged');
    const { output } = context;
    const isForProgram = Boolean(options.json) || options.jq !== undefined;
    if (!isForProgram) for (const line of planLines(changes)) output.line(line);
    const outcomes = new Map<Change, Outcome>();
    const report = (applied: boolean) =>
      isForProgram
        ? show(
            output,
            options,
            { items: changes.map((one) => itemOf(one, outcomes.get(one))), applied },
            () => [],
          )
        : undefined;
    if (options.dryRun === true) return report(false);
    if (writing.length === 0) {
      attempt.forget();
      return report(false);
    }
    if (options.yes !== true) {
      if (isForProgram) output.progress(`${planLines(changes).join('\n')}\n`);
      await confirm('Apply the plan?', options.file.includes('-'), output);
    }
    try {
      await carryOutAll(writing, outcomes, planning, context);
    } catch (error) {
      await report(true);
      throw error;
    }
    if (isForProgram) return report(true);
    output.line(`${writing.length === 1 ? 'One change is' : `${writing.length} changes are`} made.`);
  });
}

/**
 * Applies the changes in order.
 * @throws PlainError that lists which objects were created and which weren't, and the remedy
 */
async function carryOutAll(
  changes: readonly Change[],
  outcomes: Map<Change, Outcome>,
  { attempt, world }: Planning,
  { output }: CommandContext,
): Promise<void> {
  if (!attempt.keep()) output.progress(`${keysNotKept}\n`);
  for (const change of changes) outcomes.set(change, 'not reached');
  let done = 0;
  const progress = new Progress(output);
  if (changes.length > 1) progress.begin('applying', changes.length, () => done);
  try {
    for (const change of changes) {
      outcomes.set(change, 'failed');
      await change.carryOut();
      outcomes.set(change, 'done');
      world.forget(change.document.kind);
      done += 1;
    }
    attempt.forget();
  } catch (error) {
    if (error instanceof BatonError && error.code === 'idempotency_key_reused') attempt.forget();
    const failed = changes[done] as Change;
    throw new PlainError(failureText(error, failed, done, changes.length), { cause: error });
  } finally {
    progress.end();
  }
}

const conflictCodes: readonly string[] = [
  'version_conflict',
  'process_version_conflict',
  'rule_key_taken',
  'role_slug_conflict',
  'capability_exists',
  'workspace_type_exists',
  'workspace_slug_conflict',
  'project_exists',
];

/** Errors about the idempotency key, which don't concern the object. */
const keyRefusals: Readonly<Record<string, string>> = {
  idempotency_key_reused:
    'The service has stored another request under the idempotency key of this change. The object may already be as the plan shows it. The keys of this apply were discarded, so the next run uses new ones.',
  idempotency_in_flight: 'Another run of this apply is making the same change. Wait until it has ended.',
};

function failureText(error: unknown, { document }: Change, done: number, all: number): string {
  const { kind, key } = document;
  if (!(error instanceof BatonError) && !(error instanceof PlainError)) throw error;
  const isConflict = error instanceof BatonError && conflictCodes.includes(error.code);
  return [
    `${document.placeOf(error instanceof BatonError ? placeIn(error) : '')}: ${kind} ${onOneLine(key)} was not changed:`,
    error instanceof BatonError ? describeRejection(error) : error.message,
    ...(error instanceof BatonError ? [keyRefusals[error.code] ?? []].flat() : []),
    ...(isConflict ? ['Somebody has changed it since the plan, and that change was not overwritten.'] : []),
    `${done} of ${all} changes were made. Run it again: changes already made are skipped.`,
  ].join('\n');
}

/** The field that the service rejected, if the error names one; otherwise the position of the enclosing object. */
function placeIn({ details }: BatonError): string {
  const [first] = (Array.isArray(details['errors']) ? details['errors'] : []) as {
    loc?: string;
    path?: string;
  }[];
  const field = first?.loc?.replace(/^body\./, '') ?? details['field'];
  const path = first?.path ?? details['path'];
  const parts = [
    ...(typeof field === 'string' ? field.split('.') : []),
    ...(typeof path === 'string' ? path.split('/') : []),
  ];
  const known = parts.filter((part) => part !== '');
  return known.length === 0 ? '' : `/spec/${known.map(escapePointer).join('/')}`;
}

function itemOf({ document, action, fields, note }: Change, outcome: Outcome | undefined): object {
  const { kind, key, file, line } = document;
  const outcomeOf = action === 'unchanged' ? null : (outcome ?? 'planned');
  return { kind, key, action, outcome: outcomeOf, fields, note: note ?? null, file, line };
}
