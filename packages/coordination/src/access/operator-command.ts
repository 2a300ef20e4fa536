import { hostname, userInfo } from 'node:os';
import type { JobTools } from '../service/job.ts';
import type { Context } from './context.ts';

/** The context of an operator's command: it has the store but no credential. */
export type OperatorTools = Pick<JobTools<Context>, 'pool' | 'settings' | 'log' | 'command'>;

/** Refuses an operator's command with a stable code and a human-readable message. */
export class CommandRefused extends Error {
  readonly code: string;

  constructor(code: string, sentence: string) {
    super(`${code}: ${sentence}`);
    this.name = 'CommandRefused';
    this.code = code;
  }
}

/** The account on the host that runs the command: `root@db-1`. */
export function hostAccount(): string {
  let account: string;
  try {
    account = userInfo().username;
  } catch {
    // The user of a container often has no name.
    account = `uid ${process.getuid?.() ?? 'unknown'}`;
  }
  return `${account}@${hostname()}`.slice(0, 200);
}
