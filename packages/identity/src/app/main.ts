import { availableParallelism } from 'node:os';
import { migrateDatabase, rehearseMigration, runCommand, serve } from '@baton/kernel/process/command-line';
import { createLog } from '@baton/kernel/process/log';
import { auditUsage, runAuditCommand } from '../records/audit-chain/audit-command.ts';
import { migrationsDirectory } from '../service/database.ts';
import { createIdentity } from './app.ts';
import { readIdentitySettings } from './settings.ts';

// Signatures get one thread per core, and slow DNS lookups get one more (decision 0103). Node reads this when the
// pool of threads is first used.
process.env.UV_THREADPOOL_SIZE ??= String(availableParallelism() + 1);

const usage = `Usage: baton identity <command>

  serve      answer requests on IAM_HOST:IAM_PORT until SIGTERM or SIGINT
  migrate    bring the schema of IAM_DATABASE_URL up to date; with --dry-run only try it and undo it
  audit      check the audit log: baton identity audit verify
`;

await runCommand(usage, { serve: serveIdentity, migrate: migrateIdentity, audit: auditIdentity }, undefined, {
  audit: auditUsage,
});

async function serveIdentity(): Promise<void> {
  const settings = readIdentitySettings(process.env);
  const { IAM_HOST: host, IAM_PORT: port, IAM_LOG_LEVEL: level } = settings;
  const log = createLog({ name: 'identity', level });
  const adminSecret = { setting: 'IAM_BOOTSTRAP_TOKEN', secret: settings.IAM_BOOTSTRAP_TOKEN };
  const options = { name: 'identity', host, port, log, adminSecret };
  await serve(() => createIdentity({ env: process.env, log }), options);
}

async function migrateIdentity([option, ...others]: string[]): Promise<void> {
  const isRehearsal = option === '--dry-run';
  if (others.length > 0 || !(isRehearsal || option === undefined))
    throw new Error('Usage: baton identity migrate [--dry-run]');
  const { IAM_DATABASE_URL: url } = readIdentitySettings(process.env);
  const act = isRehearsal ? rehearseMigration : migrateDatabase;
  await act('identity', url, migrationsDirectory);
}

async function auditIdentity(args: string[]): Promise<void> {
  process.exitCode = await runAuditCommand(args, () => readIdentitySettings(process.env), {
    say: (line) => process.stdout.write(`${line}\n`),
    complain: (line) => process.stderr.write(`${line}\n`),
  });
}
