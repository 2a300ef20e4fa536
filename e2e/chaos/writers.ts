import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeEvents } from '@baton/coordination/testing/ledger/journal-writer';
import type { Pool } from '@baton/kernel/database/db';
import { type ApiAnswer, type ApiCaller, isTransientFailure, pickAny, send } from './api-client.ts';
import type { Writing } from './oracle.ts';

export interface Writer extends ApiCaller {
  readonly tenantId: string;
  readonly writing: Writing;
  /** Whether to continue writing. */
  isWriting(): boolean;
  /** Reports an unexpected response. */
  fault(what: string): void;
}

const upTo = (ms: number) => Math.random() * ms;
/** The time for which a command is retried before it counts as unanswered. */
const commandMsMax = 60_000;

/** Sends a command, always with the same key, until some process responds. */
async function command(writer: Writer, method: string, path: string, body: unknown, ifMatch?: string) {
  const headers = {
    'idempotency-key': randomUUID(),
    ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
  };
  const deadline = performance.now() + commandMsMax;
  let answer: ApiAnswer | undefined;
  do {
    answer = await send(writer, method, path, { body, headers });
    if (!isTransientFailure(answer) && answer.body?.error?.code !== 'idempotency_in_flight') return answer;
    await sleep(50 + upTo(200));
  } while (performance.now() < deadline);
  return undefined;
}

interface OwnTask {
  id: string;
  version: number;
}

/** Creates and changes tasks, and comments on them: each acknowledged command must write its event exactly once. */
export async function writeCommands(writer: Writer): Promise<void> {
  const tasks: OwnTask[] = [];
  while (writer.isWriting()) {
    const task = tasks.length < 5 || Math.random() < 0.3 ? undefined : pickAny(tasks);
    const act =
      task === undefined ? 'create' : pickAny(['change', 'change', 'comment', 'refused', 'claim'] as const);
    if (task === undefined) await createTask(writer, tasks);
    else if (act === 'change') await changeTask(writer, task, tasks);
    else if (act === 'comment') await comment(writer, task);
    else if (act === 'claim') await letClaimLapse(writer, task);
    else await tryInVain(writer, task);
    await sleep(upTo(30));
  }
}

async function createTask(writer: Writer, tasks: OwnTask[]): Promise<void> {
  const answer = await command(writer, 'POST', '/tasks', { title: `chaos ${randomUUID()}` });
  if (answer?.status === 201) {
    writer.writing.answered.push({ type: 'task.created', entityId: answer.body.id });
    tasks.push(answer.body);
    if (tasks.length > 40) tasks.shift();
  } else if (answer !== undefined) writer.fault(`POST /tasks was answered ${said(answer)}`);
}

async function changeTask(writer: Writer, task: OwnTask, tasks: OwnTask[]): Promise<void> {
  const { answered, unanswered } = writer.writing;
  const event = { type: 'task.updated', entityId: task.id };
  const body = { description: `changed ${randomUUID()}` };
  const answer = await command(writer, 'PATCH', `/tasks/${task.id}`, body, `"task-${task.version}"`);
  if (answer?.status === 200) {
    answered.push(event);
    task.version = answer.body.version;
    return;
  }
  // After any other response, the task's version is no longer known.
  tasks.splice(tasks.indexOf(task), 1);
  if (answer === undefined) unanswered.push(event);
  else if (answer.status !== 409) writer.fault(`PATCH of a task was answered ${said(answer)}`);
}

async function comment(writer: Writer, task: OwnTask): Promise<void> {
  const event = { type: 'task.comment_added', entityId: task.id };
  const answer = await command(writer, 'POST', `/tasks/${task.id}/comments`, { body: 'still here' });
  if (answer?.status === 201) writer.writing.answered.push(event);
  else if (answer === undefined) writer.writing.unanswered.push(event);
  else writer.fault(`a comment was answered ${said(answer)}`);
}

/** A rejected command writes nothing. */
async function tryInVain(writer: Writer, task: OwnTask): Promise<void> {
  const answer = await command(writer, 'PATCH', `/tasks/${task.id}`, { title: 'forged' }, '"task-999999"');
  if (answer !== undefined && answer.status !== 409)
    writer.fault(`a stale version was answered ${said(answer)}`);
}

/** Claims a task and never releases it: the worker ends the claim and writes an event. */
async function letClaimLapse(writer: Writer, task: OwnTask): Promise<void> {
  const opened = await command(writer, 'POST', '/sessions', { clientName: 'chaos', ttlSeconds: 10 });
  if (opened?.status !== 201) return;
  writer.writing.answered.push({ type: 'session.opened', entityId: opened.body.id });
  const body = { sessionId: opened.body.id, ttlSeconds: 10 };
  const claimed = await command(writer, 'POST', `/tasks/${task.id}:claim`, body);
  if (claimed?.status === 200) task.version += 1;
  else if (claimed !== undefined && claimed.status !== 409 && claimed.status !== 422)
    writer.fault(`a claim was answered ${said(claimed)}`);
}

const said = ({ status, body }: ApiAnswer) => `${status} ${body?.error?.code ?? ''}`;

/**
 * Repeatedly moves events that every consumer of the service has confirmed to the archive, while they are being read.
 * @param isPruned whether the archive is pruned as well
 */
export async function archiveAgainAndAgain(writer: Writer, isPruned: boolean): Promise<void> {
  while (writer.isWriting()) {
    await putAway(writer, 'archive');
    if (isPruned) await putAway(writer, 'prune');
    await sleep(upTo(1000));
  }
}

async function putAway(writer: Writer, how: 'archive' | 'prune'): Promise<void> {
  const body = { beforeSeconds: 0, maxEvents: 1 + Math.floor(upTo(200)) };
  const answer = await command(writer, 'POST', `/operations/journal:${how}`, body);
  // 409: the cursor doesn't exist before the adapter's first round.
  if (answer !== undefined && answer.status !== 200 && answer.status !== 409)
    writer.fault(`${how} was answered ${said(answer)}`);
}

class TakenBack extends Error {}

export interface SlowWriting {
  /** The time for which a transaction stays open between its first and its last event. */
  readonly openMs: number;
  /** The probability of a rollback. */
  readonly takesBack: number;
  /** A switch for the checker's own tests: called with each event when it is written, not when it is committed. */
  publishes?(ids: readonly string[]): void;
}

/**
 * Writes events at the beginning and at the end of a transaction, without the API, so that late commits have lower
 * positions than many earlier commits.
 */
export async function writeSlowly(
  pool: Pool,
  writer: Writer,
  { openMs, takesBack, publishes }: SlowWriting,
): Promise<void> {
  const { committed, rolledBack, unknown } = writer.writing;
  while (writer.isWriting()) {
    const ids = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
    const drafts = ids.map((id) => ({ id, type: 'task.updated', entity_type: 'task' }));
    let [isWritten, isAtCommit] = [false, false];
    try {
      await pool.transaction(async (tx) => {
        await writeEvents(tx, writer.tenantId, drafts.slice(0, 2));
        isWritten = true;
        publishes?.(ids.slice(0, 2));
        await sleep(upTo(openMs));
        await writeEvents(tx, writer.tenantId, drafts.slice(2));
        if (Math.random() < takesBack) throw new TakenBack();
        isAtCommit = true;
      });
      for (const id of ids) committed.add(id);
    } catch {
      if (isAtCommit) unknown.push(ids);
      else if (isWritten) for (const id of ids) rolledBack.add(id);
      await sleep(20 + upTo(100));
    }
    await sleep(upTo(50));
  }
}
