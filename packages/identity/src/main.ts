import { listenUntilStopped } from '@baton/kernel/listen';
import { createLog } from '@baton/kernel/log';
import { migrate } from '@baton/kernel/migrate';
import { createIdentity } from './app.ts';
import { runAuditCommand } from './audit-record/audit-command.ts';
import { readIdentitySettings } from './config.ts';
import { migrationsDirectory } from './database.ts';

const usage = `Usage: baton identity <command>

  serve      answer requests on IAM_HOST:IAM_PORT until SIGTERM or SIGINT
  migrate    bring the schema of IAM_DATABASE_URL up to date
  audit      check the audit record: baton identity audit verify
`;

/** The commands of `baton identity`; each ends by itself or fails with one sentence. */
const commands: Readonly<Record<string, () => Promise<void>>> = {
  serve: serveIdentity,
  migrate: migrateIdentity,
  audit: auditIdentity,
};

async function serveIdentity(): Promise<void> {
  const { IAM_HOST: host, IAM_PORT: port, IAM_LOG_LEVEL: level } = readIdentitySettings(process.env);
  const log = createLog({ name: 'identity', level });
  const service = await createIdentity({ env: process.env, log });
  try {
    const { url, stopped } = await listenUntilStopped(service, { host, port, log });
    log.info({ url }, `identity answers at ${url}`);
    await stopped;
  } catch (error) {
    await service.close();
    throw error;
  }
}

async function migrateIdentity(): Promise<void> {
  const { applied, head } = await migrate(
    readIdentitySettings(process.env).IAM_DATABASE_URL,
    migrationsDirectory,
  );
  const done = applied.length === 0 ? 'nothing to do' : `applied ${applied.join(', ')}`;
  process.stdout.write(`The database of identity is at revision ${head}: ${done}.\n`);
}

async function auditIdentity(): Promise<void> {
  process.exitCode = await runAuditCommand(process.argv.slice(3), process.env, {
    say: (line) => process.stdout.write(`${line}\n`),
    complain: (line) => process.stderr.write(`${line}\n`),
  });
}

const command = commands[process.argv[2] ?? ''];
if (command === undefined) {
  process.stderr.write(usage);
  process.exitCode = 2;
} else {
  try {
    await command();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
