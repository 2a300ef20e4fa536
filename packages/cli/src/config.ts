/** What the command line takes from its environment. Nothing else reads `process.env`. */
export interface CliConfig {
  /** The folder of the Baton to talk to: BATON_HOME. */
  readonly home: string | undefined;
  /** Handed to a Baton that `demo` starts, so that IAM_DATABASE_URL and CP_DATABASE_URL reach it. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function readConfig(environment = process.env): CliConfig {
  return { home: environment.BATON_HOME || undefined, environment };
}
