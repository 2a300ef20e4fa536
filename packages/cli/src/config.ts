/** The environment of the command line. No other file reads `process.env`. */
export interface CliConfig {
  /** BATON_HOME: the folder of the Baton to use. */
  readonly home: string | undefined;
  /** The path of a connection file that the user trusts without owning it. */
  readonly agreed?: string;
  /** Passed on to a Baton that `demo` starts, with IAM_DATABASE_URL and CP_DATABASE_URL among others. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function readConfig(environment = process.env): CliConfig {
  return { home: environment.BATON_HOME || undefined, environment };
}
