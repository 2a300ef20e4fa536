import { hostname } from 'node:os';
import { dirname, resolve } from 'node:path';
import { type Access, findAccess } from '@baton/sdk/node';
import {
  accessHelp,
  parseOptions,
  readLeaseSeconds,
  readWholeNumber,
  SettingsError,
} from '@baton/values/program-options';

export interface RunnerSettings extends Access {
  /** The argument of `sh -c` for each task. */
  readonly exec: string;
  /** The folder that contains the runner's session and a folder for each run. */
  readonly folder: string;
  readonly name: string;
  /** The maximum number of concurrent tasks. */
  readonly parallel: number;
  /** Whether the runner ends after one task, or if none is available. */
  readonly isOnce: boolean;
  /** The single task that the runner works on, by its id or public id; `isOnce` is true then. */
  readonly task: string | undefined;
  /** Whether the runner takes only tasks that are assigned to it. */
  readonly isMineOnly: boolean;
  /** The workspace whose tasks the runner takes, by id or slug, including its descendants; undefined for any. */
  readonly workspace: string | undefined;
  /** The keys of the accepted task types; empty for any. */
  readonly types: readonly string[];
  /** The required labels: a task's `customFields.labels` must contain all of them. */
  readonly labels: readonly string[];
  /** The timeout of one run; undefined for none. */
  readonly minutesMax: number | undefined;
  /** The time between SIGTERM and SIGKILL. */
  readonly graceSeconds: number;
  readonly leaseSeconds: number;
  /** Whether the command gets an access token. */
  readonly passesToken: boolean;
  /** Whether the mark of lines for the runner is the same in every run. */
  readonly hasFixedMark: boolean;
  /** The runner's own environment, which the command gets without Baton's settings. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The folders that are searched for a Baton: the current one and the checkout. */
const folders = ['.', dirname(dirname(dirname(import.meta.dirname)))];

export const usage = `Usage: baton agent run --exec COMMAND [options]

Runs a program as an agent: takes tasks, and runs the command for each in an empty folder (docs/runner.md).

  --exec COMMAND         what sh runs for each task
  --parallel N           concurrent tasks, 1 to 64; 1 by default
  --once                 end after one task, or if none is available
  --task REF             work on this task, such as TASK-42, and end
  --mine                 only tasks that are assigned to this agent
  --workspace REF        only tasks of this workspace, by its slug or id, and of those below it
  --type KEY             only tasks of this type; may be repeated
  --label TEXT           only tasks with this label in customFields.labels; may be repeated to require several
  --max-minutes N        stop a command after this time, and fail its run
  --grace-seconds N      between SIGTERM and SIGKILL, 1 to 600; 10 by default
  --lease-seconds N      how long a task remains claimed after this machine fails, 10 to 3600; 60 by default
  --name TEXT            the name that people see; the machine's by default
  --folder PATH          for the session and the runs; .baton-runner by default
  --pass-token           give the command an access token of 5 minutes in BATON_ACCESS_TOKEN, and always a valid one
                         in the file BATON_ACCESS_TOKEN_FILE
  --fixed-mark           use ::baton:: as BATON_MARK in every run; unsafe if the command prints others' text

${accessHelp}`;

/**
 * Reads the arguments and the environment. @returns undefined if only help is requested
 * @throws SettingsError; ConnectionError
 */
export function readSettings(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): RunnerSettings | undefined {
  const words = wordsOf(args);
  if (words.help === true) return undefined;
  if (!words.exec)
    throw new SettingsError('Specify the command to run with --exec; see baton agent run --help.', 2);
  if (process.platform === 'win32')
    throw new SettingsError('The runner needs sh and process groups: run it in WSL on Windows.', 1);
  refuseChoiceBeside(words);
  const whole = (name: 'parallel' | 'grace-seconds' | 'max-minutes', min: number, max: number) =>
    readWholeNumber(name, words[name], min, max);
  const graceSeconds = whole('grace-seconds', 1, 600) ?? 10;
  const given = {
    exec: words.exec,
    folder: resolve(words.folder ?? '.baton-runner'),
    name: words.name ?? hostname(),
    parallel: whole('parallel', 1, 64) ?? 1,
    isOnce: words.once === true || words.task !== undefined,
    task: words.task,
    isMineOnly: words.mine === true,
    workspace: words.workspace,
    types: words.type ?? [],
    labels: words.label ?? [],
    minutesMax: whole('max-minutes', 1, 100_000),
    graceSeconds,
    leaseSeconds: readLeaseSeconds(words['lease-seconds']),
    passesToken: words['pass-token'] === true,
    hasFixedMark: words['fixed-mark'] === true,
    environment,
  };
  return { ...given, ...findAccess(environment, folders) };
}

/** @throws SettingsError if `--task` is combined with a selection of tasks */
function refuseChoiceBeside(words: ReturnType<typeof wordsOf>): void {
  if (words.task === undefined) return;
  if (words.task === '') throw new SettingsError('--task must be a task, such as TASK-42.', 2);
  const other = (['mine', 'workspace', 'type', 'label', 'parallel'] as const).find(
    (name) => words[name] !== undefined,
  );
  if (other !== undefined)
    throw new SettingsError(`--task specifies the single task to work on: omit --${other}.`, 2);
}

const wordsOf = (args: readonly string[]) =>
  parseOptions('baton agent run', args, {
    exec: { type: 'string' },
    parallel: { type: 'string' },
    once: { type: 'boolean' },
    task: { type: 'string' },
    mine: { type: 'boolean' },
    workspace: { type: 'string' },
    type: { type: 'string', multiple: true },
    label: { type: 'string', multiple: true },
    'max-minutes': { type: 'string' },
    'grace-seconds': { type: 'string' },
    'lease-seconds': { type: 'string' },
    name: { type: 'string' },
    folder: { type: 'string' },
    'pass-token': { type: 'boolean' },
    'fixed-mark': { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  });
