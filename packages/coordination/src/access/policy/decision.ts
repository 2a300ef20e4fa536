import type { Caller } from '../../service/caller.ts';
import type { ResourceType } from './catalogue.ts';

/** A relation of an object that the decision point may not know: `task:<id>` `owner` `principal:<identity's id>`. */
export interface Tuple {
  readonly object: string;
  readonly relation: string;
  readonly subject: string;
}

/** An object with its relations. */
export interface Resource {
  readonly type: ResourceType;
  readonly id: string;
  readonly tuples: readonly Tuple[];
}

/** Who asks: the identity's principal id, never the one of this service. */
export interface Subject {
  readonly kind: Caller['kind'];
  readonly iamPrincipalId: string;
  readonly tenantId: string;
}

export interface Question {
  readonly subject: Subject;
  readonly action: string;
  readonly resource: Resource;
}

export interface Decision {
  readonly allowed: boolean;
  readonly reasonCode: string;
  readonly decisionId: string | null;
  /** By which policy and model it was judged; null where the decision point doesn't say. */
  readonly version: string | null;
}

/** All objects of a type on which a subject may do something. */
export interface ObjectsQuestion {
  readonly subject: Subject;
  readonly action: string;
  readonly type: ResourceType;
}

/** The decision point gave no answer that can be used: 5xx, 4xx, nothing in time, or nonsense. Never sent to a client. */
export class NoDecision extends Error {
  override readonly name = 'NoDecision';
}

/** A part of a list that the decision point answered. */
export interface ObjectsPart {
  readonly ids: readonly string[];
  /** Undefined on the last part. */
  readonly next: string | undefined;
}

/** What asks a decision point in its own language. Every method throws `NoDecision`, and nothing else. */
export interface Wire {
  /** How many questions one request holds. */
  readonly questionsMax: number;
  /** The answers in the order of the questions. */
  check(questions: readonly Question[], request: Send): Promise<readonly Decision[]>;
  /** Undefined where the decision point can't list objects. */
  listObjects(
    question: ObjectsQuestion,
    cursor: string | undefined,
    request: Send,
  ): Promise<ObjectsPart | undefined>;
}

/**
 * Posts to the decision point with the credential of this service.
 * @returns the body of a 200, or undefined for a status among `absent`
 * @throws NoDecision
 */
export type Send = (path: string, body: unknown, reading?: Reading) => Promise<unknown>;

/** How an answer is read. */
export interface Reading {
  /** The statuses that say that the decision point has no such call. */
  readonly absent?: readonly number[];
  /** The member of the body that is a long list: each item is given to `take`, and `[]` is left in its place. */
  readonly list?: { readonly name: string; take(item: unknown): void };
}

/** How many relations are told of one object (section 21.2). */
export const tuplesMax = 50;
/** How many ids a part of a list is asked to hold. */
export const objectsPerPart = 1000;
/** More objects than these are not read: the list is then refused. */
export const objectsMax = 100_000;

export const nameOf = ({ type, id }: Pick<Resource, 'type' | 'id'>): string => `${type}:${id}`;
