import type { IncomingMessage } from 'node:http';
import { inject } from 'light-my-request';
import type { RunningService } from '@baton/kernel/running-service';
import type { Transport } from '@baton/sdk';

/**
 * How the console asks identity for a browser: within the process, with the address of the browser. Over the network all
 * browsers would share the address of this process, and one that guesses tokens would use up the failures of all
 * (IAM_FAILURES_PER_ADDRESS_MAX).
 * @param browser the request for which identity is asked
 */
export function onBehalf(identity: Pick<RunningService, 'handler'>, browser: IncomingMessage): Transport {
  const forwarded = browser.headers['x-forwarded-for'];
  return async ({ method, url, headers, body, signal }) => {
    const answer = await inject((req, res) => identity.handler(req, res), {
      method: method as 'POST',
      url: url.replace(/^.*?\/iam(?=\/)/, ''),
      headers: { ...headers, ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }) },
      remoteAddress: browser.socket.remoteAddress ?? '',
      signal,
      ...(typeof body === 'string' && { payload: body }),
    });
    return new Response(answer.payload, {
      status: answer.statusCode,
      headers: answer.headers as Record<string, string>,
    });
  };
}
