import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { BatonClient } from '@baton/sdk';
import { portableSchema } from './portable-schema.ts';
import type { Workplace } from './workplace.ts';

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
  /** @returns the text of the answer. @throws what `refusalText` turns into an answer */
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

/**
 * The form with its JSON Schema written once: a server is built for each request over HTTP, and writing 14 takes 3 ms. What the
 * schema says stays within what clients of every model accept; the form itself checks more.
 */
function written(form: z.ZodObject): StandardSchemaWithJSON {
  const standard = form['~standard'] as StandardSchemaWithJSON['~standard'];
  const schema = portableSchema(standard.jsonSchema.input({ target: 'draft-2020-12' }));
  return { '~standard': { ...standard, jsonSchema: { input: () => schema, output: () => schema } } };
}

/** Lines of an answer; what is undefined is left out. */
export function lines(...texts: (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined).join('\n');
}
