import type { ProcessSpec } from './definition.ts';
import { partsOfTemplate } from './templates.ts';
import { placesOf } from './walk.ts';

/** An expression and, if it belongs to a rule of a decision table, the table whose inputs it reads. */
export interface CalendarText {
  readonly text: string;
  readonly table?: string;
}

/** The expressions of a definition that may refer to a calendar: those that call a function of `cal`. */
export function* calendarTextsOf(spec: ProcessSpec): Generator<CalendarText> {
  for (const { text, isTemplate } of placesOf(spec)) {
    if (!mayName(text)) continue;
    if (!isTemplate) yield { text };
    for (const { expression } of isTemplate ? (partsOfTemplate(text) ?? []) : [])
      if (expression !== undefined && mayName(expression)) yield { text: expression };
  }
  for (const { id: table, rules } of spec.decisions)
    for (const { when, then } of rules)
      for (const text of [...when, ...then]) if (mayName(text)) yield { text, table };
}

const mayName = (text: string) => /\bcal\b/.test(text);
