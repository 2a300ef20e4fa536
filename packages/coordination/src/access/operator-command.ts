import { hostname, userInfo } from 'node:os';
import type { JobTools } from '../service/job.ts';
import type { Context } from './context.ts';

/** What a command of the operator works with: the store, without any credential. */
export type OperatorTools = Pick<JobTools<Context>, 'pool' | 'settings' | 'log' | 'command'>;

/** Refuses a command of the operator: a stable code, and a sentence for people. */
export class CommandRefused extends Error {
  readonly code: string;

  constructor(code: string, sentence: string) {
    super(`${code}: ${sentence}`);
    this.name = 'CommandRefused';
    this.code = code;
  }
}

/** Who runs the command, as the host knows them: `root@db-1`. */
export function hostAccount(): string {
  let account: string;
  try {
    account = userInfo().username;
  } catch {
    // In a container the user often has no name.
    account = `uid ${process.getuid?.() ?? 'unknown'}`;
  }
  return `${account}@${hostname()}`.slice(0, 200);
}
