import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { type BatonClient, BatonError, LeaseLostError } from '@baton/sdk';
import { NotHeldError, type Workplace } from './workplace.ts';

/** Bytes of one message of a client: room for the longest text of artifact_put with every character escaped. */
export const messageBytesMax = 2_097_152;

/** Groups of tools, of which a server lists those that it was told to. */
export const toolsets = ['work', 'tasks', 'approvals', 'knowledge', 'admin'] as const;
export type Toolset = (typeof toolsets)[number];

/** What a call works with. */
export interface Call {
  readonly baton: BatonClient;
  readonly workplace: Workplace;
  /** Aborted when the client takes its request back or goes. */
  readonly signal: AbortSignal;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly toolset: Toolset;
  /** The permissions of Baton that it can't do without. */
  readonly permissions: readonly string[];
  readonly input: StandardSchemaWithJSON;
  readonly isReadOnly: boolean;
  /** Whether it ends or replaces something of others. */
  readonly isDestructive: boolean;
  /** Whether a second call with the same arguments changes nothing more. */
  readonly isIdempotent: boolean;
  /** @returns the text of the answer. @throws what `refusalOf` turns into an answer */
  readonly run: (input: never, call: Call) => Promise<string | Begun>;
}

/** What goes on after a call: an approval, or a run. */
export interface Followed {
  readonly kind: 'approval' | 'run';
  readonly id: string;
}

/** The answer of a tool that began something which goes on without it. */
export interface Begun {
  readonly text: string;
  readonly followed: Followed;
}

type Shaped<Input extends z.ZodObject> = Pick<Tool, 'name' | 'title' | 'description' | 'toolset'> &
  Partial<Pick<Tool, 'isReadOnly' | 'isDestructive' | 'isIdempotent'>> & {
    readonly permissions: readonly string[];
    readonly input: Input;
    run(input: z.output<Input>, call: Call): Promise<string | Begun>;
  };

/** Declares a tool. Without a word about it, it writes, destroys nothing, and does again what it is told again. */
export function tool<Input extends z.ZodObject>(shape: Shaped<Input>): Tool {
  const { isReadOnly = false, isDestructive = false, isIdempotent = isReadOnly } = shape;
  return { ...shape, input: written(shape.input), isReadOnly, isDestructive, isIdempotent };
}

/** The form with its JSON Schema written once: a server is built for each request over HTTP, and writing 14 takes 3 ms. */
function written(form: z.ZodObject): StandardSchemaWithJSON {
  const standard = form['~standard'] as StandardSchemaWithJSON['~standard'];
  const schema = standard.jsonSchema.input({ target: 'draft-2020-12' });
  return { '~standard': { ...standard, jsonSchema: { input: () => schema, output: () => schema } } };
}

/** Lines of an answer; what is undefined is left out. */
export function lines(...texts: (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined).join('\n');
}

const messageCharactersMax = 600;

/** What an agent is told of a failure: what happened, and what to do next. @throws what is a defect of this program */
export function refusalOf(error: unknown): string {
  if (error instanceof NotHeldError) return error.message;
  if (error instanceof LeaseLostError)
    return `${capital(error.message)}. Stop working on this task now, write nothing more for it, and don't try this call again. work_next gives you other work.`;
  if (error instanceof BatonError) {
    const about = error.requestId === undefined ? '' : ` (request ${error.requestId})`;
    return `${error.code}: ${error.message.slice(0, messageCharactersMax)}${about}. ${adviceOf(error)}`;
  }
  if (error instanceof TypeError) return `${capital(error.message.slice(0, messageCharactersMax))}.`;
  throw error;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function adviceOf({ code, status, retryable }: BatonError): string {
  if (status === 401) return 'The token is over or was revoked: a person must give this server a new one.';
  if (status === 403) return 'You may not do this: ask a person, and go on without it.';
  if (status === 404) return 'Check the reference; task_search finds tasks.';
  if (code === 'network_error' || retryable) return 'Baton may be back soon: try again in some seconds.';
  if (status === 422 || status === 400) return 'Correct the arguments and call again.';
  return 'Read it again before you go on: it may have changed meanwhile.';
}
