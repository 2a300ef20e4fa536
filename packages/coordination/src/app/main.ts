import { migrateDatabase, rehearseMigration, runCommand, serve } from '@baton/kernel/process/command-line';
import { createLog } from '@baton/kernel/process/log';
import { breakGlassCommand } from '../access/api-keys/break-glass.command.ts';
import { bindingCommand } from '../access/iam-bindings/binding.command.ts';
import { CommandRefused, type OperatorTools } from '../access/operator-command.ts';
import { secretsCommand } from '../access/secret-store/secrets.command.ts';
import { migrationsDirectory } from '../service/migrations.ts';
import { createCoordination } from './app.ts';
import { openBackground } from './background.ts';
import { createMeasures } from './health/measures.ts';
import { readCoordinationSettings } from './settings.ts';

const usage = `Usage: baton coordination <command>

  serve      serve requests on CP_HOST:CP_PORT until SIGTERM or SIGINT
  migrate    update the schema of CP_DATABASE_URL; with --dry-run only try it and roll back

On the database's host, without any credential:
  break-glass issue --principal ID --reason TEXT [--ttl-seconds 3600]
             issue a key with all permissions to a person, while identity is unavailable
  break-glass revoke
             revoke all such keys
  binding disable|enable ID
             disable or enable the binding of an identity
  secrets reseal
             encrypt every stored secret with the first key of CP_SECRET_STORE_KEY_FILE
`;

const isWrongUsage = (error: unknown) => error instanceof CommandRefused && error.code === 'usage';

await runCommand(
  usage,
  {
    serve: serveCoordination,
    migrate: migrateCoordination,
    'break-glass': (args) => operate(breakGlassCommand, args),
    binding: (args) => operate(bindingCommand, args),
    secrets: (args) => operate(secretsCommand, args),
  },
  (error) => (isWrongUsage(error) ? 2 : 1),
);

async function serveCoordination(): Promise<void> {
  const {
    CP_ENV,
    CP_HOST,
    CP_PORT,
    CP_LOG_LEVEL,
    CP_BOOTSTRAP_TOKEN: secret = '',
  } = readCoordinationSettings(process.env);
  const log = createLog({ name: 'coordination', level: CP_LOG_LEVEL });
  await serve(() => createCoordination({ env: process.env, log, measures: createMeasures(true) }), {
    name: 'coordination',
    host: CP_HOST,
    port: CP_PORT,
    log,
    adminSecret: { setting: 'CP_BOOTSTRAP_TOKEN', secret },
    logged: { env: CP_ENV },
  });
}

async function migrateCoordination([option, ...others]: string[]): Promise<void> {
  const isRehearsal = option === '--dry-run';
  if (others.length > 0 || !(isRehearsal || option === undefined))
    throw new Error('Usage: baton coordination migrate [--dry-run]');
  const { CP_DATABASE_URL } = readCoordinationSettings(process.env);
  const act = isRehearsal ? rehearseMigration : migrateDatabase;
  await act('coordination', CP_DATABASE_URL, migrationsDirectory);
}

/** Runs an operator's command on the database; running processes are notified of its changes. */
async function operate(
  act: (tools: OperatorTools, args: readonly string[]) => Promise<string>,
  args: string[],
): Promise<void> {
  const settings = readCoordinationSettings(process.env);
  // Standard output is for the command's output.
  const log = createLog({ name: 'operator', level: 'error' });
  const { tools, close } = await openBackground(settings, log, 'baton-operator');
  try {
    process.stdout.write(await act(tools, args));
  } finally {
    await close();
  }
}
