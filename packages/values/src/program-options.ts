import { type ParseArgsConfig, parseArgs } from 'node:util';

/** An invalid option or setting of a program. The message is for the user; `exitCode` is 1, or 2 for usage. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The last paragraph of the help of programs that connect to Baton by `findAccess` of `@baton/sdk/node`. */
export const accessHelp = `From the environment: BATON_URL, the address of Baton; BATON_TOKEN, a personal access token, or in a pipeline the
identity that its platform gives it (docs/workload-identity/README.md). Without them, the Baton of this machine is used,
as its administrator; BATON_HOME names its folder.`;

/**
 * Parses the arguments of a program.
 * @param program the command that starts it, for the message
 * @throws SettingsError
 */
export function parseOptions<const Options extends NonNullable<ParseArgsConfig['options']>>(
  program: string,
  args: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new SettingsError(`${(error as Error).message.split('\n', 1)[0]} See ${program} --help.`, 2);
  }
}

/**
 * @returns undefined if the option is absent. @throws SettingsError for anything but a whole number from `min` to `max`
 */
export function readWholeNumber(
  option: string,
  text: string | undefined,
  min: number,
  max: number,
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new SettingsError(`--${option} is a whole number from ${min} to ${max}.`, 2);
}

export const leaseSecondsUsual = 60;

/** Reads `--lease-seconds`, the time for which a lease outlives a killed program. @throws SettingsError */
export const readLeaseSeconds = (text: string | undefined): number =>
  readWholeNumber('lease-seconds', text, 10, 3600) ?? leaseSecondsUsual;
