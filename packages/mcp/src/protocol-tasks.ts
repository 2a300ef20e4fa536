import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type Approval, type BatonClient, BatonError, type Run } from '@baton/sdk';
import { documentFromOthers } from './others-text.ts';
import { type Followed, lines, type Toolset } from './tool.ts';

/** MCP tasks (SEP-2663): operations that continue after a call and are polled by id. They are not Baton's tasks. */
const extension = 'io.modelcontextprotocol/tasks';

/** The tools that a client requested. */
interface Listed {
  readonly toolsets: readonly Toolset[];
  readonly isReadOnly: boolean;
}

/** The polling interval for both kinds of operation: a person decides, or an agent works. */
const pollIntervalMs = 5_000;

/** Accepts any id, because the client's capability has to be checked before the arguments. */
const params = z.looseObject({ taskId: z.unknown().optional() });
const taskIdForm = /^(approval|run)\.([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})$/i;

/** Whether the client that sent this request supports MCP tasks; otherwise it must not get one. */
export function canFollow({ mcpReq: { envelope } }: ServerContext): boolean {
  const said = envelope as Readonly<Record<string, ClientCapabilities | undefined>> | undefined;
  return said?.[CLIENT_CAPABILITIES_META_KEY]?.extensions?.[extension] !== undefined;
}

/**
 * Handles `tasks/get`, `tasks/update` and `tasks/cancel` of clients with protocol version 2026-07-28, the only one
 * with the extension.
 * @param listed a cancel is rejected if only tools that read are listed. To cancel a run, `work` or `admin`, the
 * toolsets that end runs, must be listed
 */
export function addProtocolTasks({ server }: McpServer, baton: BatonClient, listed: Listed): void {
  server.registerCapabilities({ extensions: { [extension]: {} } });
  server.setRequestHandler('tasks/get', { params }, ({ taskId }, context) =>
    answered(context, async () => ({ ...(await protocolTask(baton, followedIn(taskId))) })),
  );
  // An MCP task of this server never needs input from its client, because people decide elsewhere.
  server.setRequestHandler('tasks/update', { params }, ({ taskId }, context) =>
    answered(context, async () => {
      await protocolTask(baton, followedIn(taskId));
      return {};
    }),
  );
  server.setRequestHandler('tasks/cancel', { params }, ({ taskId }, context) =>
    answered(context, async () => {
      const followed = followedIn(taskId);
      if (listed.isReadOnly) throw refusal('This server only reads.');
      // Cancelling an approval request would let its task continue without a decision. A client that stops waiting
      // doesn't intend that, so the request remains: the extension lets the server ignore a cancel.
      if (followed.kind === 'approval') await protocolTask(baton, followed);
      else if (endsRuns(listed))
        await baton.runs.requestCancel(followed.id, { reason: 'an MCP client requested it' });
      else throw refusal('This server ends no runs: it has neither the toolset work nor admin.');
      return {};
    }),
  );
}

function endsRuns({ toolsets }: Listed): boolean {
  return toolsets.includes('work') || toolsets.includes('admin');
}

function refusal(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

/** Returns the result of a tool that started a followed operation. */
export async function createdTask(
  baton: BatonClient,
  followed: Followed,
  text: string,
): Promise<CallToolResult> {
  const content: CallToolResult['content'] = [{ type: 'text', text }];
  try {
    return { resultType: 'task', content, ...(await protocolTask(baton, followed)) };
  } catch (error) {
    if (!(error instanceof BatonError)) throw error;
    // The operation was started nevertheless; the text contains its id.
    return { content };
  }
}

async function protocolTask(baton: BatonClient, { kind, id }: Followed): Promise<Record<string, unknown>> {
  const shown =
    kind === 'approval' ? ofApproval(await baton.approvals.get(id)) : ofRun(await baton.runs.get(id));
  return { taskId: `${kind}.${id}`, ttlMs: null, pollIntervalMs, ...shown };
}

function ofApproval({ id, status, decisionComment, decisionAt, createdAt, updatedAt }: Approval) {
  const times = { createdAt, lastUpdatedAt: updatedAt };
  if (status === 'pending')
    return {
      ...times,
      status: 'working',
      statusMessage: 'The approval is requested and has no decision yet.',
    };
  if (status === 'cancelled')
    return { ...times, status, statusMessage: 'The approval request was cancelled.' };
  const text = lines(
    `It is decided: ${status}. work_next gives you the task again.`,
    documentFromOthers(`the approval ${id}`, { status, decisionComment, decisionAt }),
  );
  return { ...times, status: 'completed', result: resultOf(text, false) };
}

function ofRun(run: Run) {
  const { id, status, output, failureReason, startedAt, updatedAt } = run;
  const times = { createdAt: startedAt, lastUpdatedAt: updatedAt };
  if (status === 'cancelled') return { ...times, status, statusMessage: 'The run was cancelled.' };
  if (status === 'running' || status === 'suspended')
    return { ...times, status: 'working', statusMessage: `The run is ${status}.` };
  const text = lines(
    `The run has ${status}.`,
    documentFromOthers(`the result of the run ${id}`, { output, failureReason }),
  );
  return { ...times, status: 'completed', result: resultOf(text, status !== 'succeeded') };
}

function resultOf(text: string, isError: boolean) {
  return { content: [{ type: 'text', text }], isError, resultType: 'complete' };
}

/** @throws ProtocolError for an invalid task id */
function followedIn(taskId: unknown): Followed {
  const [, kind, id = ''] = (typeof taskId === 'string' && taskIdForm.exec(taskId)) || [];
  if (kind === undefined)
    throw refusal('There is no such task. Use the id of a result that contains a task.');
  return { kind: kind.toLowerCase() === 'run' ? 'run' : 'approval', id };
}

async function answered<Answer>(context: ServerContext, work: () => Promise<Answer>): Promise<Answer> {
  if (!canFollow(context))
    throw new MissingRequiredClientCapabilityError({
      requiredCapabilities: { extensions: { [extension]: {} } },
    });
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof BatonError)) throw error;
    const isUnknown = [403, 404, 409, 422].includes(error.status);
    throw new ProtocolError(
      isUnknown ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError,
      `${error.code}: ${error.message.slice(0, 300)}`,
    );
  }
}
