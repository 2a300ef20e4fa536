import { isDeepStrictEqual } from 'node:util';
import type { Definition } from '@baton/process-engine/engine/definition-lists';
import { newState, takeInput } from '@baton/process-engine/engine/engine';
import type { Act, ElementMap, Input, JournalNote } from '@baton/process-engine/engine/inputs';
import { type EngineTools, ProcessFault } from '@baton/process-engine/engine/machine';
import { correlateAgain } from '@baton/process-engine/engine/migration/recorrelate';
import type { ProcessState } from '@baton/process-engine/engine/state';
import { dueTimersOf } from '@baton/process-engine/engine/timers';
import type { JsonObject } from '@baton/values/wire';
import { migrationTarget } from '../definitions-in-use.ts';
import type { Recorded } from '../instance.ts';

/**
 * Processes the recorded inputs of an instance again with another definition, and compares the results
 * (docs/reference/processes.md#replay).
 */

/** The maximum number of timers that fire only in the replay. */
const ownTimersMax = 100;
/** Maximum length of a reported value; for a longer one, only the length is reported. */
const valueCharactersMax = 1000;

/** A line in an instance's journal. */
export interface Line extends JournalNote {
  readonly seq: number;
  readonly input: Recorded | null;
}

export interface Divergence {
  /** The line at which the recorded run and the replay differ; if only the replay has a line, that of the input. */
  readonly journalSeq: number;
  readonly kind: JournalNote['kind'];
  readonly element: string | null;
  readonly recorded: JsonObject | null;
  readonly replayed: JsonObject | null;
}

export interface Replay {
  readonly divergences: Divergence[];
  /** The number of all differences; `divergences` contains the first ones, up to the maximum. */
  divergencesTotal: number;
  status: ProcessState['status'];
}

export interface Replayed {
  readonly id: string;
  readonly key: string;
  readonly startedAt: string;
  readonly lines: readonly Line[];
}

interface Version {
  readonly definition: Definition;
  readonly tools: EngineTools;
}

export interface Candidate extends Version {
  /** The versions that an instance has had, by number, if it has had several. */
  readonly earlier: ReadonlyMap<number, Version>;
  /** Whether the candidate's correlations are those of the instances' current definition. */
  readonly hasSameCorrelations: boolean;
}

/**
 * For a migrated instance, the candidate replaces the last version; earlier inputs are processed by the versions in use
 * at that time. Yields after each input.
 * @param divergencesMax the number of stored differences; all are counted
 * @returns undefined if the journal doesn't contain all inputs
 * @throws errors that the definition didn't cause
 */
export function* replayInstance(
  candidate: Candidate,
  { id, key, startedAt, lines }: Replayed,
  divergencesMax: number,
): Generator<void, Replay | undefined> {
  const segments = segmentsOf(lines);
  const began = segments?.[0]?.recorded.began;
  if (segments === undefined || began === undefined) return undefined;
  const migrations = migrationsOf(segments);
  let by = versionFor(candidate, migrations[0]?.fromVersion);
  if (by === undefined) return undefined;
  const { data, hasBegun } = began;
  let state = newState(by.definition, { id, key, startedAt, data });
  if (hasBegun !== undefined) state.hasBegun = hasBegun;
  const replay: Replay = { divergences: [], divergencesTotal: 0, status: state.status };
  const add = (one: Divergence) => {
    replay.divergencesTotal += 1;
    if (replay.divergences.length < divergencesMax) replay.divergences.push(one);
  };
  const taken = takenTimers(segments);
  let ownTimers = 0;
  for (const { line, recorded, notes } of segments) {
    const given = recorded.taken;
    // A replay that has diverged may wait for timers of its own, which nothing else fires.
    while (replay.divergencesTotal > 0 && ownTimers < ownTimersMax) {
      const own = ownTimerOf(state, given.at, taken);
      if (own === undefined) break;
      ownTimers += 1;
      const next = tried(by, state, own);
      if (next instanceof ProcessFault) break;
      ({ state } = next);
      for (const one of divergencesOf(line.seq, [], notesOf(next.acts))) add({ ...one, kind: 'timer' });
      yield;
    }
    if (given.kind === 'timer') taken.set(given.timerId, (taken.get(given.timerId) ?? 1) - 1);
    if (given.kind === 'migrate') {
      migrations.shift();
      const later = versionFor(candidate, migrations[0]?.fromVersion);
      if (later === undefined) return undefined;
      by = migrationTarget(by.definition, later, mapOf(candidate, given));
    }
    const isJudged = migrations.length > 0 || candidate.hasSameCorrelations;
    const input = isJudged ? given : correlateAgain(candidate, key, given);
    const next = tried(by, state, input);
    if (next instanceof ProcessFault) {
      const fault = { fault: next.code, reason: next.message };
      const { seq: journalSeq, kind, reason, data: noted } = line;
      add({
        journalSeq,
        kind,
        element: next.element,
        recorded: shown({ reason, data: noted }),
        replayed: shown(fault),
      });
      break;
    }
    ({ state } = next);
    for (const one of divergencesOf(line.seq, notes, notesOf(next.acts))) add(one);
    yield;
  }
  replay.status = state.status;
  return replay;
}

interface Segment {
  /** The line that records the input. */
  readonly line: Line;
  readonly recorded: Recorded;
  /** That line and the lines that the input caused. */
  readonly notes: Line[];
}

function segmentsOf(lines: readonly Line[]): Segment[] | undefined {
  const segments: Segment[] = [];
  for (const line of lines) {
    if (!isOfEngine(line)) continue;
    if (line.input !== null) segments.push({ line, recorded: line.input, notes: [] });
    else if (line.kind === 'input') return undefined;
    segments.at(-1)?.notes.push(line);
  }
  return segments;
}

/**
 * Whether the engine itself produced the line; other lines record the results of effects, or how many inputs were
 * skipped.
 */
function isOfEngine({ kind, reason, data }: Line): boolean {
  if (kind === 'intent') return !('refused' in data) && !('closed' in data);
  return kind !== 'input' || reason !== 'passed_over';
}

/** How often each of the instance's timers still has to fire in the replay. */
function takenTimers(segments: readonly Segment[]): Map<string, number> {
  const taken = new Map<string, number>();
  for (const { recorded } of segments) {
    if (recorded.taken.kind !== 'timer') continue;
    const { timerId } = recorded.taken;
    taken.set(timerId, (taken.get(timerId) ?? 0) + 1);
  }
  return taken;
}

/** The next timer that is due by an instant and isn't in the instance's journal. */
function ownTimerOf(state: ProcessState, at: string, taken: ReadonlyMap<string, number>): Input | undefined {
  if (state.status !== 'running') return undefined;
  const first = dueTimersOf(state, at).find(({ id }) => !taken.get(id));
  if (first === undefined) return undefined;
  const dueAt = first.dueAt as string;
  return { kind: 'timer', at: dueAt > state.clock ? dueAt : state.clock, timerId: first.id };
}

type Migration = Extract<Input, { kind: 'migrate' }>;

function migrationsOf(segments: readonly Segment[]): Migration[] {
  return segments.flatMap(({ recorded: { taken } }) => (taken.kind === 'migrate' ? [taken] : []));
}

/** The mapping of elements from the previous version to the one that an instance migrated to. */
function mapOf({ earlier }: Candidate, { fromVersion, toVersion }: Migration): ElementMap {
  const { migrations = [] } = earlier.get(toVersion)?.definition.spec ?? {};
  return migrations.find(({ from }) => from === fromVersion)?.map ?? {};
}

/**
 * @param number undefined if no migration follows, which selects the candidate
 */
function versionFor(candidate: Candidate, number: number | undefined): Version | undefined {
  return number === undefined ? candidate : candidate.earlier.get(number);
}

function tried(
  { definition, tools }: Version,
  state: ProcessState,
  input: Input,
): ReturnType<typeof takeInput> | ProcessFault {
  try {
    return takeInput(definition, state, input, tools);
  } catch (error) {
    if (error instanceof ProcessFault) return error;
    throw error;
  }
}

function notesOf(acts: readonly Act[]): JournalNote[] {
  return acts.flatMap((act) => (act.do === 'note' ? [act.note] : []));
}

/** The differences between two results of an input; within each kind and element, lines are compared in order. */
function divergencesOf(
  inputSeq: number,
  recorded: readonly Line[],
  replayed: readonly JournalNote[],
): Divergence[] {
  const found: Divergence[] = [];
  const rest = new Map<string, JournalNote[]>();
  const nameOf = ({ kind, element }: JournalNote) => `${kind}/${element ?? ''}`;
  for (const note of replayed) {
    const same = rest.get(nameOf(note));
    if (same === undefined) rest.set(nameOf(note), [note]);
    else same.push(note);
  }
  for (const line of recorded) {
    const { seq: journalSeq, kind, element } = line;
    const note = rest.get(nameOf(line))?.shift();
    const [before, now] = [said(line), note === undefined ? null : said(note)];
    if (isDeepStrictEqual(before, now)) continue;
    found.push({ journalSeq, kind, element, recorded: shown(before), replayed: now && shown(now) });
  }
  for (const notes of rest.values())
    for (const note of notes) {
      const { kind, element } = note;
      found.push({ journalSeq: inputSeq, kind, element, recorded: null, replayed: shown(said(note)) });
    }
  return found;
}

/** In the format that the store returns. */
function said({ reason, data }: JournalNote): JsonObject {
  return JSON.parse(JSON.stringify({ reason, data })) as JsonObject;
}

function shown(value: JsonObject): JsonObject {
  const { length: characters } = JSON.stringify(value);
  return characters <= valueCharactersMax ? value : { characters };
}
