import { createRequire } from 'node:module';
import { join } from 'node:path';

/** The used part of DBOS. It is loaded if it is installed: without it, the comparison is skipped. */
interface Dbos {
  setConfig(config: object): void;
  launch(): Promise<void>;
  shutdown(): Promise<void>;
  registerWorkflow(work: () => Promise<number>, options: { name: string }): () => Promise<number>;
  runStep(step: () => Promise<number>, options: { name: string }): Promise<number>;
}

export interface DbosWorkflow {
  /** Runs a workflow of ten steps to its end. */
  run(): Promise<void>;
  close(): Promise<void>;
}

/**
 * A workflow of DBOS with ten counting steps, in this process, with its own database on the same server.
 * @returns undefined if DBOS is not installed
 */
export async function openDbos(
  databaseUrl: string,
  steps: number,
  connections: number,
): Promise<DbosWorkflow | undefined> {
  const dbos = load();
  if (dbos === undefined) return undefined;
  dbos.setConfig({
    name: 'baton-bench',
    systemDatabaseUrl: databaseUrl,
    systemDatabasePoolSize: connections,
    systemDatabaseSchemaName: 'dbos',
    logLevel: 'error',
    runAdminServer: false,
  });
  const workflow = dbos.registerWorkflow(
    async () => {
      let n = 0;
      for (let step = 0; step < steps; step += 1)
        n = await dbos.runStep(() => Promise.resolve(n + 1), { name: `step-${step}` });
      return n;
    },
    { name: 'ten-steps' },
  );
  await dbos.launch();
  return { run: async () => void (await workflow()), close: () => dbos.shutdown() };
}

function load(): Dbos | undefined {
  try {
    const require = createRequire(join(import.meta.dirname, '../dbos/package.json'));
    return (require('@dbos-inc/dbos-sdk') as { DBOS: Dbos }).DBOS;
  } catch {
    return undefined;
  }
}
