import type { StandardSchemaWithJSON } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import type { BatonClient } from '@baton/sdk';
import { portableSchema } from './portable-schema.ts';
import type { Workplace } from './workplace.ts';

/**
 * The maximum size of one client message, in bytes: room for the longest text of artifact_put with every character
 * escaped.
 */
export const messageBytesMax = 2_097_152;

/** Groups of tools, of which a server lists the configured ones. */
export const toolsets = ['work', 'tasks', 'approvals', 'knowledge', 'admin'] as const;
export type Toolset = (typeof toolsets)[number];

/** The context of a call. */
export interface Call {
  readonly baton: BatonClient;
  readonly workplace: Workplace;
  /** Aborted when the client cancels its request or disconnects. */
  readonly signal: AbortSignal;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly toolset: Toolset;
  /** The permissions that the tool requires. */
  readonly permissions: readonly string[];
  readonly input: StandardSchemaWithJSON;
  readonly isReadOnly: boolean;
  /** Whether the tool ends or replaces others' work. */
  readonly isDestructive: boolean;
  /** Whether a second call with the same arguments changes nothing more. */
  readonly isIdempotent: boolean;
  /** @returns the text of the result. @throws errors that `refusalText` turns into a result */
  readonly run: (input: never, call: Call) => Promise<string | Begun>;
}

/** An operation that continues after a call: an approval or a run. */
export interface Followed {
  readonly kind: 'approval' | 'run';
  readonly id: string;
}

/** The result of a tool that started an operation that continues without it. */
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

/** Declares a tool. By default, it writes, destroys nothing, and is not idempotent. */
export function tool<Input extends z.ZodObject>(shape: Shaped<Input>): Tool {
  const { isReadOnly = false, isDestructive = false, isIdempotent = isReadOnly } = shape;
  return { ...shape, input: written(shape.input), isReadOnly, isDestructive, isIdempotent };
}

/**
 * Caches the JSON Schema of each form: over HTTP a server is created per request, and generating 14 schemas takes 3 ms.
 * The schema contains only members that clients for all models accept; the form itself validates more.
 */
function written(form: z.ZodObject): StandardSchemaWithJSON {
  const standard = form['~standard'] as StandardSchemaWithJSON['~standard'];
  const schema = portableSchema(standard.jsonSchema.input({ target: 'draft-2020-12' }));
  return { '~standard': { ...standard, jsonSchema: { input: () => schema, output: () => schema } } };
}

/** Joins the lines of a result; undefined ones are omitted. */
export function lines(...texts: (string | undefined)[]): string {
  return texts.filter((text) => text !== undefined).join('\n');
}
