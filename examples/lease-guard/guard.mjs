// Checks at Baton whether a lease is live, for a gateway that lets only its holder through. Plain JavaScript for Node
// 20 and up.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The timeout of Baton's response. */
const answerMsMax = 5_000;
const bodyCharactersMax = 1024 * 1024;
const accessTokenCharactersMax = 8_192;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The reason of a rejection. `status` is the status of an HTTP response. */
export class Refused extends Error {
  constructor(message, status = 400) {
    super(message);
    this.status = status;
  }
}
const unknownCaller = 401;
const notTheHolder = 403;
const stale = 409;
const ourFault = 503;

/** Checks leases. It rejects what it can't verify. */
export class LeaseGuard {
  #url;
  #credential;
  #fences;
  #accessToken;
  #usedUntilMs = 0;

  /**
   * @param url the address of Baton
   * @param tokenFile a file with a personal access token, whose owner has tasks.read; it remains on this machine
   * @param folder stores the highest fencing token of each task across restarts
   */
  constructor({ url, tokenFile, folder }) {
    this.#url = url.replace(/\/+$/, '');
    this.#credential = () => readFileSync(tokenFile, 'utf8').trim();
    this.#fences = join(folder, 'fences');
  }

  /**
   * Lets only the holder of a live lease through. Everybody who may read tasks can read claims with their
   * fencing tokens, so these prove nothing about the caller.
   * @param claimId the claim that the client presents; @param fencingToken its token, as text or number
   * @param accessToken the caller's own, for the audience control-plane
   * @returns the task, and the remaining time of the lease in milliseconds, by Baton's clock
   * @throws Refused
   */
  async check(claimId, fencingToken, accessToken) {
    const token = Number(fencingToken);
    if (!uuid.test(claimId ?? '') || !Number.isSafeInteger(token) || token < 1)
      throw new Refused('Name the lease: the id of the claim, and its fencing token.');
    const caller = await this.#principalOf(accessToken);
    const { answer: claim } = await this.#ask(`/api/v1/claims/${claimId}`);
    if (!uuid.test(caller ?? '') || claim.holderId !== caller)
      throw new Refused("You don't hold this lease.", notTheHolder);
    // Last, to minimize the time between the response and the permitted action.
    const { answer, atMs } = await this.#ask(`/api/v1/claims/${claimId}:check`, { fencingToken: token });
    const { live, reason, taskId, expiresAt } = answer;
    if (!uuid.test(taskId ?? '')) throw new Refused('Baton did not name the task.', ourFault);
    if (live !== true) throw new Refused(`This lease has ended (${reason}). Stop.`, stale);
    this.#passOnce(taskId, token);
    return { taskId, leftMs: Date.parse(expiresAt) - atMs };
  }

  /** @returns the public id of a task, as TASK-000001. @throws Refused */
  async publicIdOf(taskId) {
    return (await this.#ask(`/api/v1/tasks/${taskId}`)).answer.publicId;
  }

  /**
   * Remembers the token, and rejects one that is lower than an accepted one: Baton's response may be late. Each
   * token is a file: two gateways on one folder can't overwrite each other's state, and the one with the lower token
   * sees the file of the other in any order.
   */
  #passOnce(taskId, token) {
    const folder = join(this.#fences, taskId);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, String(token)), '');
    if (readdirSync(folder).some((seen) => Number(seen) > token))
      throw new Refused('This lease has ended (superseded): somebody else holds the task.', stale);
  }

  /** @returns Baton's response with the time of its clock. @throws Refused */
  async #ask(path, body) {
    try {
      for (const isLast of [false, true]) {
        const response = await this.#send(path, body, await this.#token());
        // It has expired, or its key was rotated: retry once with a new one.
        if (response.status === 401 && !isLast) this.#accessToken = undefined;
        else if (response.status === 404) throw new Refused('Baton has no such lease.', stale);
        else if (response.status !== 200)
          throw new Refused(`Baton refuses this gateway (${response.status}).`, ourFault);
        else
          return {
            answer: await jsonOf(response),
            atMs: Date.parse(response.headers.get('date') ?? '') || Date.now(),
          };
      }
    } catch (error) {
      if (error instanceof Refused) throw error;
      throw silent();
    }
  }

  /** @returns the id of the access token's principal, from Baton. @throws Refused */
  async #principalOf(accessToken) {
    const isToken = /^[\w-]+\.[\w-]+\.[\w-]+$/.test(accessToken ?? '');
    if (!isToken || accessToken.length > accessTokenCharactersMax)
      throw new Refused('Send your access token for the audience control-plane.', unknownCaller);
    try {
      const response = await this.#send('/api/v1/harness/context', undefined, accessToken);
      if (response.status === 200) return (await jsonOf(response)).principal?.id;
      if (response.status === 401 || response.status === 403)
        throw new Refused('Baton refuses your access token: get a new one.', unknownCaller);
      throw new Refused(`Baton did not identify you (${response.status}).`, ourFault);
    } catch (error) {
      throw error instanceof Refused ? error : silent();
    }
  }

  #send(path, body, accessToken) {
    return fetch(this.#url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(answerMsMax),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  /** An access token lasts 300 seconds; it is used for 80 % of that. */
  async #token() {
    if (this.#accessToken !== undefined && performance.now() < this.#usedUntilMs) return this.#accessToken;
    const beganMs = performance.now();
    const response = await fetch(`${this.#url}/iam/api/v1/platform-access-tokens:exchange`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      redirect: 'error',
      signal: AbortSignal.timeout(answerMsMax),
      body: JSON.stringify({ token: this.#credential(), audience: 'control-plane' }),
    });
    if (response.status !== 200)
      throw new Refused(`Baton refuses the gateway's token (${response.status}).`, ourFault);
    const { accessToken, expiresIn } = await jsonOf(response);
    this.#usedUntilMs = beganMs + expiresIn * 800;
    this.#accessToken = accessToken;
    return accessToken;
  }
}

function silent() {
  return new Refused('Baton did not answer in time, so nobody is let through.', ourFault);
}

async function jsonOf(response) {
  const text = await response.text();
  if (text.length > bodyCharactersMax) throw new Error('the answer is too long');
  return JSON.parse(text);
}
