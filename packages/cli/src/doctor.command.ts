import { statfs } from 'node:fs/promises';
import type { Command } from 'commander';
import { BatonError } from '@baton/sdk';
import { invocation } from '../../../bin/invocation.mjs';
import { type Access, findAccess, withClient } from './access.ts';
import { certificateProblem } from './certificate-error.ts';
import { type CommandContext, type CommonOptions, withCommonOptions } from './command-context.ts';
import { examineHome, type Finding } from './doctor-home.ts';
import { exitCodes } from './error-text.ts';
import { PlainError } from './plain-error.ts';
import { fieldsNamed } from './result-form.ts';
import { show } from './show.ts';
import { version } from './version.ts';

const answerMsMax = 5_000;
/** Access tokens are valid for 300 seconds; a clock that is off by more than this shortens that noticeably. */
const skewSecondsMax = 30;
const diskBytesMin = 1024 ** 3;
const nodeMajorMin = 20;

/** `baton doctor`: checks the installation, and reports the remedy for each problem; exits with 1 if it finds any. */
export function addDoctor(program: Command, context: CommandContext): void {
  const command = program.command('doctor').description('check for problems, and show the remedies');
  withCommonOptions(command, fieldsNamed('check', 'isGood', 'says', 'repair')).action(
    async (options: CommonOptions) => {
      const findings = await examine(options, context);
      await show(context.output, options, findings, () =>
        findings.flatMap(({ check, isGood, says, repair }) => [
          `${isGood ? '✔' : '✘'} ${check.padEnd(14)}  ${says}`,
          ...(repair === undefined ? [] : [`  ${repair}`]),
        ]),
      );
      if (findings.some(({ isGood }) => !isGood)) process.exitCode = exitCodes.failed;
    },
  );
}

async function examine(options: CommonOptions, { config }: CommandContext): Promise<Finding[]> {
  const machine = [nodeVersion(), await disk(config.home), ...(await examineHome(config))];
  let access: Access;
  try {
    access = findAccess(options, config);
  } catch (error) {
    if (!(error instanceof PlainError)) throw error;
    return [
      ...machine,
      {
        check: 'signed in',
        isGood: false,
        says: error.message,
        repair: `${invocation()} start, or ${invocation()} login`,
      },
    ];
  }
  const { coordinationUrl, identityUrl, source } = access;
  const found = { check: 'signed in', isGood: true, says: `${coordinationUrl} (${source})` };
  const [coordination, identity, versions, keys, token] = await Promise.all([
    ready('coordination', `${coordinationUrl}/health/ready`),
    ready('identity', `${identityUrl}/healthz`),
    sameVersion(coordinationUrl),
    signingKeys(identityUrl),
    tokenWorks(access),
  ]);
  return [...machine, found, ...coordination, ...identity, ...versions, keys, token];
}

function nodeVersion(): Finding {
  const { node } = process.versions;
  const isGood = Number(node.split('.')[0]) >= nodeMajorMin;
  return {
    check: 'node',
    isGood,
    says: node,
    ...(!isGood && { repair: `Install Node ${nodeMajorMin} or later.` }),
  };
}

async function disk(home: string | undefined): Promise<Finding> {
  const { bavail, bsize } = await statfs(home ?? '.').catch(() => statfs('.'));
  const bytes = bavail * bsize;
  const isGood = bytes >= diskBytesMin;
  return {
    check: 'disk',
    isGood,
    says: `${(bytes / 1024 ** 3).toFixed(1)} GiB free in ${home ?? process.cwd()}`,
    ...(!isGood && { repair: 'PostgreSQL stops when the disk is full: make room, or move BATON_HOME.' }),
  };
}

/** Whether a service is ready, and, by its Date header, whether the clocks agree. */
async function ready(check: string, url: string): Promise<Finding[]> {
  const began = Date.now();
  let answer: Response;
  try {
    answer = await fetch(url, { signal: AbortSignal.timeout(answerMsMax) });
  } catch (error) {
    const { port, protocol } = new URL(url);
    const place = port || (protocol === 'https:' ? '443' : '80');
    return [
      {
        check,
        isGood: false,
        says: `${url} can't be reached.`,
        repair:
          certificateProblem(error) ??
          `Start it with ${invocation()} start; if it runs, check that it listens on port ${place} and that no firewall blocks it.`,
      },
    ];
  }
  const body = (await answer.json().catch(() => ({}))) as { reason?: string; revision?: string };
  const isReady = answer.status === 200;
  const finding: Finding = {
    check,
    isGood: isReady,
    says: isReady
      ? `ready${body.revision ? `, schema ${body.revision}` : ''}`
      : (body.reason ?? `returns ${answer.status}`),
    ...(!isReady && { repair: repairOf(body.reason) }),
  };
  return [finding, ...clock(check, answer.headers.get('date'), (began + Date.now()) / 2)];
}

function repairOf(reason: string | undefined): string {
  if (reason === 'migrations_pending')
    return `The schema is older than the program: ${invocation()} identity migrate, ${invocation()} coordination migrate.`;
  if (reason?.includes('database'))
    return 'Is PostgreSQL running, and are IAM_DATABASE_URL and CP_DATABASE_URL right?';
  return 'Its log has the details: in the folder logs of BATON_HOME, or on its machine.';
}

function clock(check: string, date: string | null, hereMs: number): Finding[] {
  const thereMs = Date.parse(date ?? '');
  if (Number.isNaN(thereMs)) return [];
  // The header contains truncated whole seconds, so half a second is added.
  const seconds = Math.round((hereMs - thereMs - 500) / 1000);
  const isGood = Math.abs(seconds) <= skewSecondsMax;
  return [
    {
      check: 'clock',
      isGood,
      says: `${Math.abs(seconds)} s from that of ${check}`,
      ...(!isGood && { repair: 'Synchronize the clocks with NTP: tokens and leases depend on the time.' }),
    },
  ];
}

/** Skipped if the service doesn't report its version: its health check above covers that. */
async function sameVersion(coordinationUrl: string): Promise<Finding[]> {
  try {
    const answer = await fetch(`${coordinationUrl}/openapi.json`, {
      signal: AbortSignal.timeout(answerMsMax),
    });
    const { info } = (await answer.json()) as { info: { version: string } };
    const isGood = info.version === version;
    return [
      {
        check: 'version',
        isGood,
        says: `${version} here, ${info.version} there`,
        ...(!isGood && {
          repair: 'Use the command line of the same release: it supports all operations of that Baton.',
        }),
      },
    ];
  } catch {
    return [];
  }
}

async function signingKeys(identityUrl: string): Promise<Finding> {
  const url = `${identityUrl}/.well-known/jwks.json`;
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(answerMsMax) });
    const { keys = [] } = (await answer.json()) as { keys?: { kid?: string }[] };
    if (keys.length > 0)
      return { check: 'signing keys', isGood: true, says: keys.map(({ kid }) => kid ?? '?').join(', ') };
  } catch {
    // A failure is reported like a document without keys.
  }
  return {
    check: 'signing keys',
    isGood: false,
    says: `${url} gives none.`,
    repair: 'Without them no token is accepted: docs/operations.md describes how to create and rotate keys.',
  };
}

async function tokenWorks(access: Access): Promise<Finding> {
  try {
    const { principal, tenant } = await withClient(access, (baton) =>
      baton.harness.getContext({}, { attempts: 1, deadlineMs: answerMsMax }),
    );
    return { check: 'token', isGood: true, says: `${principal.displayName}, tenant ${tenant.slug}` };
  } catch (error) {
    if (!(error instanceof BatonError)) throw error;
    return {
      check: 'token',
      isGood: false,
      says: error.code,
      repair:
        error.status === 401
          ? `Sign in again: ${invocation()} login.`
          : 'It was not checked: fix the problems above first.',
    };
  }
}
