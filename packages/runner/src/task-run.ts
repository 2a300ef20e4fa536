import { mkdirSync, openAsBlob, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BatonClient,
  BatonError,
  etagOf,
  type Lease,
  LeaseLostError,
  type RunContext,
} from '@baton/sdk';
import type { CancelledTasks } from './cancelled-tasks.ts';
import { Command, type CommandEnd } from './command.ts';
import { commandEnvironmentOf, ownSecretsOf } from './command-environment.ts';
import { acknowledgeMessages } from './control-messages.ts';
import type { MarkedLine } from './marked-lines.ts';
import {
  type Ask,
  createMark,
  fixedMark,
  lineBytesMax,
  type ParsedRequest,
  parseRequest,
} from './protocol.ts';
import { removeFolder } from './remove-folder.ts';
import { describeFault, describeReport, isContentError, rejectUnstorable } from './report-faults.ts';
import { type RetryPolicy, readRetryPolicy } from './retry-policy.ts';
import { Secrets, secretsMax } from './secrets.ts';
import type { RunnerSettings } from './settings.ts';
import { UnstorableError } from './storable.ts';
import { TokenFile } from './token-file.ts';

export interface Place {
  readonly baton: BatonClient;
  readonly settings: RunnerSettings;
  /** Aborted when the runner must end. */
  readonly stopping: AbortSignal;
  /** Tasks that this runner doesn't take again. */
  readonly cancelledTasks: CancelledTasks;
  say(line: string): void;
}

/** How a run ended, for the log and for the exit code. */
export type TaskEnd = 'done' | 'failed' | 'suspended' | 'cancelled' | 'released' | 'lost';

/** Why the runner stops a command. */
type Stop = 'cancelled' | 'too long' | 'runner ends' | 'lease ends' | 'approval requested';

/** The exit code of a command whose task should be retried later: EX_TEMPFAIL in sysexits.h. */
const retryCode = 75;
const watchEveryMs = 500;
/** How often the runner checks for a request to cancel the run. */
const cancelEveryMs = 2_000;
/** How long before the end of the lease a command is sent SIGKILL. */
const marginMs = 1_000;
export const failureCharactersMax = 2_000;
/** The maximum number of lines for the runner from one command, each of which is a write to the service. */
const asksMax = 10_000;
/** The maximum number of notes about reports on the task. */
const notesShownMax = 20;
const commentCharactersMax = 10_000;
/** HTTP statuses after which a retry would fail again. */
const finalStatuses = [400, 403, 404, 413, 422];

/** Works on one task: starts its command, executes the command's lines, stops it in time, and ends the run. */
export class TaskRun {
  readonly #lease: Lease;
  readonly #place: Place;
  readonly #folder: string;
  #output: Record<string, unknown> | undefined;
  #question: Extract<Ask, { do: 'ask_approval' }> | undefined;
  #stop: Stop | undefined;
  #fault: string | undefined;
  /** Changes to the command's reports, and reports that were not stored. */
  readonly #notes: string[] = [];
  #retryAfterSeconds: number | undefined;
  #asks = 0;
  /** Random per command, so that text by other authors in the output can't contain it. */
  readonly #mark: string;
  #hasWarned = false;
  #secrets = new Secrets([], {});
  #tokenFile: TokenFile | undefined;

  constructor(lease: Lease, place: Place) {
    this.#lease = lease;
    this.#place = place;
    this.#mark = place.settings.hasFixedMark ? fixedMark : createMark();
    this.#folder = join(place.settings.folder, 'runs', lease.run.id);
  }

  /** @throws BatonError when the service rejects a request, except for a lost lease */
  async do(): Promise<TaskEnd> {
    try {
      return await this.#do();
    } catch (error) {
      if (error instanceof LeaseLostError) return 'lost';
      throw error;
    } finally {
      this.#tokenFile?.stop();
      this.#clear();
    }
  }

  /** A folder that can't be removed doesn't fail a completed task. */
  #clear(): void {
    const fault = removeFolder(this.#folder);
    if (fault !== undefined) this.#place.say(`${this.#folder} could not be removed: ${fault}`);
  }

  async #do(): Promise<TaskEnd> {
    const context = await this.#lease.context();
    if (context.run.cancelRequestedAt !== null) return this.#cancel();
    const work = join(this.#folder, 'work');
    // A run that an earlier runner began continues from its checkpoints, not from files that its command left
    // incomplete.
    this.#clear();
    mkdirSync(work, { recursive: true, mode: 0o700 });
    const { settings } = this.#place;
    const passedOn = commandEnvironmentOf(settings.environment);
    this.#secrets = new Secrets(ownSecretsOf(settings), passedOn);
    const own = await this.#variables();
    const { leftOut } = this.#secrets;
    if (leftOut > 0)
      this.#place.say(
        `${this.#lease.task.publicId}: ${leftOut} lines of secrets are not searched in its output, because there are more than ${secretsMax}.`,
      );
    const command = await Command.start({
      exec: settings.exec,
      folder: work,
      environment: { ...passedOn, ...own },
      secrets: this.#secrets,
      input: inputOf(this.#lease, context),
      outputFile: this.#outputFile,
      runId: this.#lease.run.id,
      leftMs: this.#lease.leftMs() - marginMs,
      mark: this.#mark,
      onLine: (line) => this.#hear(line, command),
    });
    const end = await this.#watch(command);
    this.#tokenFile?.stop();
    if (command.outputFault !== undefined)
      this.#place.say(
        `${this.#lease.task.publicId}: its output is not completely stored: ${command.outputFault}`,
      );
    return this.#conclude(end);
  }

  get #outputFile(): string {
    return join(this.#folder, 'output.log');
  }

  async #variables(): Promise<Record<string, string>> {
    const { run, claim, task, isResumed } = this.#lease;
    const { settings } = this.#place;
    return {
      BATON_URL: settings.coordinationUrl,
      BATON_TASK: task.publicId,
      BATON_TASK_ID: task.id,
      BATON_TASK_TYPE: task.typeKey,
      BATON_TASK_TITLE: task.title,
      BATON_RUN_ID: run.id,
      BATON_ATTEMPT: String(run.attempt),
      BATON_CLAIM_ID: claim.id,
      BATON_FENCING_TOKEN: String(claim.fencingToken),
      BATON_IS_RESUMED: String(isResumed),
      BATON_MARK: this.#mark,
      ...(settings.passesToken && (await this.#passToken())),
    };
  }

  async #passToken(): Promise<Record<string, string>> {
    const path = join(this.#folder, 'access-token');
    const get = async () => (await this.#place.baton.accessToken?.get()) ?? '';
    this.#tokenFile = new TokenFile(path, get, (token) => this.#secrets.renew(token));
    return { BATON_ACCESS_TOKEN: await this.#tokenFile.start(), BATON_ACCESS_TOKEN_FILE: path };
  }

  /** Stops the command on request, at its timeout, or before its lease may expire. */
  async #watch(command: Command): Promise<CommandEnd> {
    const { settings, stopping } = this.#place;
    const graceMs = settings.graceSeconds * 1000;
    const ownMs = (settings.minutesMax ?? Number.POSITIVE_INFINITY) * 60_000;
    // The grace period must fit into the rest of the lease; if the lease is short, half of it remains for the work.
    const leaseGraceMs = Math.min(graceMs, (settings.leaseSeconds * 1000) / 2 - marginMs);
    const began = performance.now();
    let askedAt = began;
    let ended: CommandEnd | undefined;
    void command.ended.then((end) => {
      ended = end;
    });
    const { signal } = this.#lease;
    const kill = () => command.kill();
    // The command is killed at once, because the task may already have another holder.
    signal.addEventListener('abort', kill, { once: true });
    // The lease is extended during the grace period too, which may be longer than the lease.
    const prolonging = this.#prolong(command);
    try {
      while (ended === undefined) {
        await Promise.race([command.ended, sleep(watchEveryMs)]);
        if (ended !== undefined) break;
        if (this.#stop === undefined && stopping.aborted) this.#stop = 'runner ends';
        if (this.#stop === undefined && performance.now() - began > ownMs) this.#stop = 'too long';
        if (this.#stop === undefined && this.#lease.leftMs() < leaseGraceMs + marginMs)
          this.#stop = 'lease ends';
        if (this.#stop === undefined && performance.now() - askedAt > cancelEveryMs) {
          askedAt = performance.now();
          if (await this.#isCancelRequested()) this.#stop = 'cancelled';
        }
        if (this.#stop !== undefined)
          return await command.stop(this.#stop === 'lease ends' ? leaseGraceMs : graceMs);
      }
      return await command.ended;
    } finally {
      clearInterval(prolonging);
      signal.removeEventListener('abort', kill);
    }
  }

  /** After each heartbeat, sends the wrapper the guaranteed remaining time of the lease. */
  #prolong(command: Command): NodeJS.Timeout {
    let toldUntil = 0;
    return setInterval(() => {
      const leftMs = this.#lease.leftMs() - marginMs;
      if (performance.now() + leftMs <= toldUntil + marginMs) return;
      command.prolong(leftMs);
      toldUntil = performance.now() + leftMs;
    }, watchEveryMs);
  }

  async #isCancelRequested(): Promise<boolean> {
    try {
      const options = { attempts: 1, deadlineMs: 2_000 };
      return (await this.#place.baton.runs.get(this.#lease.run.id, options)).cancelRequestedAt !== null;
    } catch {
      // Retried while the service is unavailable, at most until the lease ends.
      return false;
    }
  }

  /**
   * Executes one line. Values that can't be stored are changed or omitted, and the task gets a note about it. A line
   * that can't be parsed fails the run when the run ends.
   */
  async #hear(line: MarkedLine, command: Command): Promise<void> {
    if (this.#stop !== undefined || this.#fault !== undefined) return;
    let what = 'a line for the runner';
    try {
      if (line.isTooLong) throw new UnstorableError(`it has more than ${lineBytesMax} bytes`);
      const read = this.#parseRequest(line);
      if (read === undefined) return this.#warnOfFixedMark(line);
      this.#asks += 1;
      if (this.#asks > asksMax) throw new TypeError(`a command may print ${asksMax} of them`);
      what = describeReport(read.ask);
      await this.#obey(read.ask, command);
      if (read.changes.length > 0) this.#note(`${what}: ${read.changes.join('; ')}`);
    } catch (error) {
      if (error instanceof LeaseLostError) return;
      if (isContentError(error)) return this.#note(`${what} was not stored: ${describeFault(error)}`);
      if (!(error instanceof TypeError || error instanceof BatonError)) throw error;
      this.#fault = `runner_line: a line for the runner could not be done: ${error.message}`;
      this.#place.say(`${this.#lease.task.publicId}: ${this.#fault}`);
    }
  }

  #note(note: string): void {
    this.#notes.push(note);
    this.#place.say(`${this.#lease.task.publicId}: ${note}`);
  }

  /** Adds a comment about reports that were changed or not stored; the stored output has the original lines. */
  async #commentNotes(): Promise<void> {
    if (this.#notes.length === 0) return;
    const shown = this.#notes.slice(0, notesShownMax);
    const more = this.#notes.length - shown.length;
    const list = [...shown, ...(more > 0 ? [`${more} more`] : [])].map((note) => `- ${note}`);
    const head = `The runner ${this.#place.settings.name} could not store all reports of attempt ${this.#lease.run.attempt} :`;
    await this.#comment([head, ...list].join('\n').slice(0, commentCharactersMax));
  }

  #parseRequest({ text, isAtStart }: MarkedLine): ParsedRequest | undefined {
    try {
      return parseRequest(this.#secrets.hidden(text), this.#mark);
    } catch (error) {
      // Text before the mark means that it may be an echo: for example, `sh -x` repeats a command with its mark.
      if (error instanceof TypeError && !isAtStart) return undefined;
      throw error;
    }
  }

  /**
   * Warns of a line with the fixed mark: otherwise, an approval request from a command written for an older runner
   * would be lost without notice.
   */
  #warnOfFixedMark({ text }: MarkedLine): void {
    if (this.#hasWarned || !text.startsWith(`${fixedMark} `)) return;
    this.#hasWarned = true;
    this.#place.say(
      `${this.#lease.task.publicId}: a line that begins with ${fixedMark} was ignored. Begin lines for the runner with $BATON_MARK, or start it with --fixed-mark.`,
    );
  }

  async #obey(ask: Ask, command: Command): Promise<void> {
    switch (ask.do) {
      case 'checkpoint':
        rejectUnstorable(ask.data);
        await this.#lease.checkpoint(ask.kind, ask.data);
        return;
      case 'comment':
        await this.#lease.comment({ body: ask.body });
        return;
      case 'output': {
        const output = { ...this.#output, ...ask.data };
        rejectUnstorable(output);
        this.#output = output;
        return;
      }
      case 'retry_after':
        this.#retryAfterSeconds = ask.seconds;
        return;
      case 'ask_approval':
        this.#question = ask;
        this.#stop = 'approval requested';
        // Not awaited, because the command can't end before this line has been processed.
        void command.stop(this.#place.settings.graceSeconds * 1000);
    }
  }

  /**
   * Writes the end of the run. If the service rejects it permanently, the run fails instead: a released task would be
   * offered again at once.
   */
  async #conclude(end: CommandEnd): Promise<TaskEnd> {
    if (!this.#lease.isLive()) return 'lost';
    await this.#publishOutput();
    await this.#commentNotes();
    try {
      return await this.#writeEnd(end);
    } catch (error) {
      if (!(error instanceof BatonError) || !finalStatuses.includes(error.status)) throw error;
      // The output may be the reason for the rejection.
      this.#output = undefined;
      return this.#fail(`end_refused: its end was rejected: ${error.code}: ${error.message}`);
    }
  }

  async #writeEnd({ code, signal }: CommandEnd): Promise<TaskEnd> {
    const lease = this.#lease;
    if (this.#stop === 'cancelled') return this.#cancel();
    if (this.#stop === 'approval requested' && this.#question !== undefined) return this.#ask(this.#question);
    if (this.#stop === 'runner ends') return this.#giveBack('the runner was stopped');
    if (this.#stop === 'lease ends') return this.#giveBack('the service did not answer in time');
    if (this.#stop === 'too long')
      return this.#fail(`max_minutes: it took more than ${this.#place.settings.minutesMax} minutes`);
    if (this.#fault !== undefined) return this.#fail(this.#fault);
    if (code === retryCode) return this.#retryLater(`exit_${code}: the command released the task`);
    if (signal !== null) return this.#fail(`signal_${signal.toLowerCase()}: the command ended by ${signal}`);
    if (code !== 0) return this.#fail(`exit_${code}: the command ended with code ${code}`);
    await lease.succeed(this.#output);
    return 'done';
  }

  async #ask({ question, personId, roleId }: Extract<Ask, { do: 'ask_approval' }>): Promise<TaskEnd> {
    const { ownerId } = this.#lease.task;
    const person = personId ?? ownerId;
    if (roleId === undefined && person === null)
      return this.#fail('no_approver: ask_approval names nobody, and the task has no owner who could decide');
    const approver = roleId === undefined ? { assignedPrincipalId: person } : { requiredRoleId: roleId };
    await this.#lease.askApproval({ comment: question, ...approver });
    return 'suspended';
  }

  /**
   * Ends a run that was stopped on request. If the task's type has a blocked status, the task is blocked until its
   * status is changed.
   */
  async #cancel(): Promise<TaskEnd> {
    const { baton, cancelledTasks } = this.#place;
    const { id } = this.#lease.task;
    await acknowledgeMessages(baton, this.#lease);
    const isBlocked = await this.#block('Stopped on request.');
    // Excluded before the end of the run is written, because the task may become claimable before the response arrives.
    if (!isBlocked) cancelledTasks.hold(id);
    try {
      await this.#lease.cancel('stopped on request');
      if (!isBlocked) cancelledTasks.add(await baton.tasks.get(id));
    } catch (error) {
      cancelledTasks.forget(id);
      // If the end of the run has been stored, a failed read only costs one more attempt.
      if (this.#lease.isLive() || error instanceof LeaseLostError) throw error;
    }
    return 'cancelled';
  }

  /**
   * Fails the run. If the task's type limits the attempts, the service blocks the task. A task of another type is
   * blocked at once, because a command could otherwise fail, and cost money, forever.
   * @param reason a code, a colon and a sentence, such as `exit_3: the command ended with code 3`
   */
  async #fail(reason: string): Promise<TaskEnd> {
    const policy = await readRetryPolicy(this.#place.baton, this.#lease.task);
    const sentence = reason.slice(reason.indexOf(':') + 2);
    if (!policy.limitsAttempts)
      await this.#block(`The runner ${this.#place.settings.name} failed: ${sentence}.`);
    await this.#endAsFailed(reason, policy);
    return 'failed';
  }

  async #retryLater(reason: string): Promise<TaskEnd> {
    await this.#endAsFailed(reason, await readRetryPolicy(this.#place.baton, this.#lease.task));
    return 'released';
  }

  /**
   * The run fails with a delay, during which the service doesn't offer the task again, so that it doesn't block other
   * tasks.
   */
  async #endAsFailed(reason: string, { pauseSeconds }: RetryPolicy): Promise<void> {
    const asked = this.#retryAfterSeconds ?? 0;
    const retryAfterSeconds = Math.max(asked, pauseSeconds(this.#lease.run.attempt));
    // Omitted if 0, because an older Baton without such delays rejects the field.
    const pause = retryAfterSeconds > 0 ? { retryAfterSeconds } : {};
    await this.#lease.fail(reason.slice(0, failureCharactersMax), this.#output, pause);
  }

  /** @returns whether the task is in a status of the category `blocked` now */
  async #block(comment: string): Promise<boolean> {
    const { baton } = this.#place;
    const lease = this.#lease;
    try {
      const { targets } = await baton.tasks.listTransitions(lease.task.id);
      const blocked = targets.find(
        ({ systemStatusCategory, route }) => systemStatusCategory === 'blocked' && route === 'update',
      );
      if (blocked !== undefined) {
        const ifMatch = etagOf(await baton.tasks.get(lease.task.id));
        await lease.update({ status: blocked.status }, { ifMatch });
      }
      const isBlocked =
        blocked === undefined ? '' : ` It is ${blocked.displayName} until somebody changes its status.`;
      await this.#comment(comment + isBlocked);
      return blocked !== undefined;
    } catch (error) {
      // A runner that may not change the task leaves it unchanged.
      if (!(error instanceof BatonError) || error instanceof LeaseLostError) throw error;
      return false;
    }
  }

  /** Adds a comment; if the service refuses it, the run's end reason contains the same text. */
  async #comment(body: string): Promise<void> {
    try {
      await this.#lease.comment({ body });
    } catch (error) {
      if (!(error instanceof BatonError) || error instanceof LeaseLostError) throw error;
      this.#place.say(`${this.#lease.task.publicId}: a comment was rejected: ${error.code}`);
    }
  }

  async #giveBack(reason: string): Promise<TaskEnd> {
    await this.#lease.release(reason);
    return 'released';
  }

  /** Publishes the output as an artifact of the run, if the runner may write one. */
  async #publishOutput(): Promise<void> {
    const { baton, say } = this.#place;
    const { publicId } = this.#lease.task;
    try {
      if (statSync(this.#outputFile).size === 0) return;
      const bytes = await openAsBlob(this.#outputFile, { type: 'text/plain; charset=utf-8' });
      const { contentRef } = await baton.artifactContents.upload(bytes, { signal: this.#lease.signal });
      await this.#lease.putArtifact({
        type: 'log',
        name: `output of attempt ${this.#lease.run.attempt}`,
        contentRef,
      });
    } catch (error) {
      if (error instanceof LeaseLostError) throw error;
      // The command may have removed the file, which doesn't affect the result.
      say(`${publicId}: its output was not stored: ${(error as BatonError).code ?? String(error)}`);
    }
  }
}

/** Returns the command's input: all data about the run, as one line of JSON. */
function inputOf({ task, isResumed }: Lease, context: RunContext): string {
  return `${JSON.stringify({ task, isResumed, context })}\n`;
}
