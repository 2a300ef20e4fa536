import { migrate, rehearseMigrations } from '../database/migrate.ts';
import type { RunningService } from '../http/running-service.ts';
import { listenUntilStopped } from '../listener/listen.ts';
import { shortSecretWarning } from './admin-secret.ts';
import type { Logger } from './log.ts';

/** The commands of a program by name; each completes or fails with one sentence. */
export type Commands = Readonly<Record<string, (args: string[]) => Promise<void>>>;

/**
 * Runs the command that the process was started with. An unknown one prints the usage and ends with exit code 2, a
 * failed one prints its sentence and ends with 1. With `--help` the usage is printed, and nothing is run.
 * @param usages the usage of each command that has its own
 * @param exitCodeOf the exit code for a failure, if it isn't 1
 */
export async function runCommand(
  usage: string,
  commands: Commands,
  exitCodeOf?: (error: unknown) => number,
  usages: Readonly<Record<string, string>> = {},
): Promise<void> {
  const [word = '', ...args] = process.argv.slice(2);
  if ([word, ...args].some((argument) => argument === '--help' || argument === '-h')) {
    process.stdout.write((Object.hasOwn(usages, word) ? usages[word] : undefined) ?? usage);
    return;
  }
  // Excludes inherited properties, such as `constructor`.
  const command = Object.hasOwn(commands, word) ? commands[word] : undefined;
  if (command !== undefined) return runProgram(() => command(args), exitCodeOf);
  process.stderr.write(usage);
  process.exitCode = 2;
}

/** Runs a program that has a single command; see `runCommand`. */
export async function runProgram(
  program: () => Promise<void>,
  exitCodeOf: (error: unknown) => number = () => 1,
): Promise<void> {
  try {
    await program();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = exitCodeOf(error);
  }
}

export interface ServeOptions {
  /** The service's name in the log. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly log: Logger;
  /** The administrator's secret, and its setting; a short secret logs a warning. */
  readonly adminSecret: { readonly setting: string; readonly secret: string };
  /** Additional fields of the log line with the address. */
  readonly logged?: object;
}

/** The command `serve`: listens on its own port until SIGTERM or SIGINT. */
export async function serve(
  create: () => Promise<RunningService>,
  { name, host, port, log, adminSecret, logged }: ServeOptions,
): Promise<void> {
  const service = await create();
  try {
    const { url, stopped } = await listenUntilStopped(service, { host, port, log });
    const warning = shortSecretWarning(adminSecret.setting, adminSecret.secret, host);
    if (warning !== undefined) log.warn(warning);
    log.info({ url, ...logged }, `${name} listens at ${url}`);
    await stopped;
  } catch (error) {
    await service.close();
    throw error;
  }
}

/** The command `migrate`: brings the database up to date and prints the applied migrations. */
export async function migrateDatabase(name: string, url: string, directory: string): Promise<void> {
  const { applied, head } = await migrate(url, directory);
  const done = applied.length === 0 ? 'nothing to do' : `applied ${applied.join(', ')}`;
  process.stdout.write(`The database of ${name} is at revision ${head}: ${done}.\n`);
}

/** Runs the migrations and rolls them back, then prints the changes that `migrateDatabase` would make. */
export async function rehearseMigration(name: string, url: string, directory: string): Promise<void> {
  const { pending, head } = await rehearseMigrations(url, directory);
  const due = pending.length === 0 ? 'nothing to do' : `would apply ${pending.join(', ')}`;
  process.stdout.write(`The database of ${name}, for revision ${head}: ${due}. Nothing was changed.\n`);
}
