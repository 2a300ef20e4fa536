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

/** The subject of a decision: the identity's principal id, never the principal id of this service. */
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
  /** The version of the policy and model; null if the decision point doesn't report one. */
  readonly version: string | null;
}

/** A query for all objects of a type on which a subject has a permission. */
export interface ObjectsQuestion {
  readonly subject: Subject;
  readonly action: string;
  readonly type: ResourceType;
}

/** The decision point failed to decide: an error status, a timeout or an invalid response. Never sent to a client. */
export class NoDecision extends Error {
  override readonly name = 'NoDecision';
}

/** A page of a list from the decision point. */
export interface ObjectsPart {
  readonly ids: readonly string[];
  /** Undefined on the last page. */
  readonly next: string | undefined;
}

/** A client for one protocol of decision points. Every method throws `NoDecision` and nothing else. */
export interface Wire {
  /** The maximum number of questions in one request. */
  readonly questionsMax: number;
  /** The decisions, in the order of the questions. */
  check(questions: readonly Question[], request: Send): Promise<readonly Decision[]>;
  /** Undefined if the decision point can't list objects. */
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
export type Send = (path: string, body: unknown, reading?: ResponseFormat) => Promise<unknown>;

/** The parser for a response. */
export interface ResponseFormat {
  /** Statuses that mean that the decision point doesn't support the call. */
  readonly absent?: readonly number[];
  /** The field with a long list: each item is passed to `take`, and `[]` replaces the list in the parsed response. */
  readonly list?: { readonly name: string; take(item: unknown): void };
}

/** The maximum number of relations sent for one object. See docs/reference/authorization.md#wire-baton. */
export const tuplesMax = 50;
/** The requested page size of a list. */
export const objectsPerPart = 1000;
/** The maximum number of objects in a list; a longer one is refused. */
export const objectsMax = 100_000;

export const nameOf = ({ type, id }: Pick<Resource, 'type' | 'id'>): string => `${type}:${id}`;
