/** What the command line reads from its environment. Nothing else reads `process.env`. */
export interface CliConfig {
  /** BATON_HOME: the folder of the Baton to use. */
  readonly home: string | undefined;
  /** The path of a connection file that isn't the user's own and that they agreed to use. */
  readonly agreed?: string;
  /** Passed on to a Baton that `demo` starts, with IAM_DATABASE_URL and CP_DATABASE_URL among others. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function readConfig(environment = process.env): CliConfig {
  return { home: environment.BATON_HOME || undefined, environment };
}
