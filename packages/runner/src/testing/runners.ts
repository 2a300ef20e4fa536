import { join } from 'node:path';
import type { Run, Task } from '@baton/sdk';
import { type BatonProcess, program } from '@baton/testing/baton-process';
import type { Participant, RunningBaton } from '@baton/testing/running-baton';

// Runs the runner as a separate process against a complete Baton.

/** An agent, and another address of Baton if necessary. */
export type Agent = Pick<Participant, 'token' | 'principalId'> & { readonly url?: string };

export interface Running extends BatonProcess {
  /** A folder for files that the runner's commands write. */
  readonly place: string;
}

/** A secret other than the token, which the runners' commands get in their environment. */
export const apiKey = 'sk-1234567890"abcdef';
export const mainFile = 'packages/runner/src/main.ts';

/** Starts runners, and reads the outcome of their tasks. */
export class Runners {
  readonly #baton: RunningBaton;
  readonly #folder: string;
  readonly #started: BatonProcess[] = [];
  #places = 0;

  /** @param folder for the folders of the runners */
  constructor(baton: RunningBaton, folder: string) {
    this.#baton = baton;
    this.#folder = folder;
  }

  /** Creates an agent with tasks that only it may take. */
  async agentWith(...titles: string[]): Promise<{ agent: Participant; tasks: Task[] }> {
    const agent = await this.#baton.participant();
    const tasks: Task[] = [];
    for (const title of titles)
      tasks.push(await this.#baton.admin.tasks.create({ title, assigneeId: agent.principalId }));
    return { agent, tasks };
  }

  run(agent: Agent, exec: string, ...args: string[]): Running {
    this.#places += 1;
    const place = join(this.#folder, `${process.pid}-${this.#places}`);
    return Object.assign(this.again(agent, place, exec, ...args), { place });
  }

  /** Starts another runner in the folder of an earlier one. */
  again(agent: Agent, place: string, exec: string, ...args: string[]): BatonProcess {
    const started = program(mainFile, this.wordsOf(place, exec, args), this.environmentOf(agent, place));
    this.#started.push(started);
    return started;
  }

  wordsOf(place: string, exec: string, args: readonly string[]): string[] {
    const choice = args.includes('--task') ? [] : ['--mine'];
    const words = ['--exec', exec, '--folder', place, '--name', 'tests', '--grace-seconds', '1'];
    return [...words, ...choice, ...args];
  }

  environmentOf({ token, url = this.#baton.url }: Agent, place: string): Record<string, string> {
    return {
      BATON_URL: url,
      BATON_TOKEN: token,
      DEPLOY_API_KEY: apiKey,
      // Baton's programs read settings in any combination of upper and lower case.
      iam_database_url: 'postgresql://lower-case-setting',
      Cp_Bootstrap_Token: 'mixed-case-setting',
      baton_other: 'lower-case-setting',
      ıam_bootstrap_token: 'dotless-case-setting',
      PLACE: place,
    };
  }

  /** Kills the runners of a failed test, which would keep the process alive. */
  killAll(): void {
    for (const { child } of this.#started) child.kill('SIGKILL');
  }

  lastRun = async ({ id }: Pick<Task, 'id'>): Promise<Run | undefined> =>
    (await this.#baton.admin.runs.list({ taskId: id })).items[0];

  bodies = async ({ id }: Pick<Task, 'id'>): Promise<string[]> =>
    (await this.#baton.admin.tasks.listComments(id)).items.map(({ body }) => body);
}

/** A command that prints a line for the runner. */
export const say = (ask: object) => sayText(JSON.stringify(ask));
export const sayText = (text: string) => `printf '%s %s\\n' "$BATON_MARK" '${text}'`;
