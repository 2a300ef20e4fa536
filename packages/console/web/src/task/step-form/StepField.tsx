import { useId } from 'react';
import type { FormField } from './form-fields.ts';
import styles from './step-form.module.css';

interface StepFieldProps {
  readonly field: FormField;
  readonly text: string;
  /** The validation error of the answer. */
  readonly fault: string | undefined;
  onChange(text: string): void;
}

/** A field of a form with its help and validation error. */
export function StepField(props: StepFieldProps) {
  const { field, fault } = props;
  const id = useId();
  const described = [field.help !== '' && `${id}-help`, fault !== undefined && `${id}-fault`].filter(Boolean);
  const about = {
    id,
    'aria-describedby': described.length > 0 ? described.join(' ') : undefined,
    'aria-invalid': fault !== undefined || undefined,
  };
  const name = (
    <>
      {field.label}
      {!field.isRequired && <span className="soft"> (optional)</span>}
    </>
  );
  return (
    <div className={styles.field}>
      {field.kind === 'several' ? (
        <fieldset className={styles.several} aria-describedby={about['aria-describedby']}>
          <legend>{name}</legend>
          <Several {...props} />
        </fieldset>
      ) : (
        <>
          <label htmlFor={id}>{name}</label>
          <Input {...props} about={about} />
        </>
      )}
      {field.help !== '' && (
        <p id={`${id}-help`} className={`soft text ${styles.help}`}>
          {field.help}
        </p>
      )}
      {fault !== undefined && (
        <p id={`${id}-fault`} className={`text ${styles.fault}`}>
          {fault}
        </p>
      )}
    </div>
  );
}

const inputTypes = {
  number: 'number',
  date: 'date',
  instant: 'datetime-local',
  email: 'email',
  url: 'url',
  text: 'text',
} as const;

function Input({ field, text, onChange, about }: StepFieldProps & { readonly about: object }) {
  const { kind, isRequired, choices, bounds } = field;
  const { minLength, maxLength, ...numbers } = bounds;
  const all = {
    ...about,
    value: text,
    required: isRequired,
    onChange: ({ target }: { target: { value: string } }) => onChange(target.value),
  };
  if (kind === 'choice')
    return (
      <select {...all}>
        <option value="">{isRequired ? 'Select …' : 'No answer'}</option>
        {choices.map(({ label }, number) => (
          <option key={label} value={number}>
            {label}
          </option>
        ))}
      </select>
    );
  if (kind === 'long') return <textarea {...all} rows={2} minLength={minLength} maxLength={maxLength} />;
  if (kind === 'lines') return <textarea {...all} rows={3} placeholder="One per line" />;
  if (kind === 'json')
    return <textarea {...all} rows={4} className="mono" spellCheck={false} placeholder="JSON" />;
  if (kind === 'several') return null;
  const lengths = kind === 'text' || kind === 'email' || kind === 'url' ? { minLength, maxLength } : {};
  return (
    <input
      {...all}
      {...lengths}
      {...(kind === 'number' && numbers)}
      type={inputTypes[kind]}
      autoComplete="off"
    />
  );
}

function Several({ field: { choices }, text, onChange }: StepFieldProps) {
  const chosen = new Set(text === '' ? [] : text.split(','));
  function toggle(number: string, isChosen: boolean) {
    if (isChosen) chosen.add(number);
    else chosen.delete(number);
    onChange([...chosen].sort((one, other) => Number(one) - Number(other)).join(','));
  }
  return choices.map(({ label }, number) => (
    <label key={label} className={styles.one}>
      <input
        type="checkbox"
        checked={chosen.has(String(number))}
        onChange={({ target }) => toggle(String(number), target.checked)}
      />
      {label}
    </label>
  ));
}
