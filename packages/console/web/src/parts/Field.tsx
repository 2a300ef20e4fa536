import { type ReactNode, useId, useState } from 'react';
import { useFault } from './Form.tsx';
import styles from './form.module.css';

interface LabelProps {
  readonly label: ReactNode;
  readonly hint?: ReactNode;
}

/** A text field with its label, its hint, and the reason if its value was rejected. */
export function Field({ label, hint, ...input }: LabelProps & React.ComponentProps<'input'>) {
  return (
    <Labelled name={input.name} label={label} hint={hint}>
      {(control) => <input maxLength={500} autoComplete="off" spellCheck={false} {...input} {...control} />}
    </Labelled>
  );
}

/** A multi-line text field. */
export function LongField({ label, hint, ...area }: LabelProps & React.ComponentProps<'textarea'>) {
  return (
    <Labelled name={area.name} label={label} hint={hint}>
      {(control) => <textarea {...area} {...control} />}
    </Labelled>
  );
}

/** A select field. */
export function SelectField({ label, hint, ...select }: LabelProps & React.ComponentProps<'select'>) {
  return (
    <Labelled name={select.name} label={label} hint={hint}>
      {(control) => <select {...select} {...control} />}
    </Labelled>
  );
}

interface Control {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

function Labelled({
  name,
  label,
  hint,
  children,
}: LabelProps & { name: string | undefined; children(control: Control): ReactNode }) {
  const fault = useFault(name);
  const id = useId();
  const hintId = useId();
  const described = [
    ...(hint === undefined ? [] : [hintId]),
    ...(fault.message === undefined ? [] : [fault.id]),
  ];
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        'aria-describedby': described.join(' ') || undefined,
        'aria-invalid': fault.message !== undefined || undefined,
      })}
      {hint !== undefined && (
        <span id={hintId} className="soft">
          {hint}
        </span>
      )}
      {fault.note}
    </div>
  );
}

/** Fields that most people leave unchanged. Open if one of them was rejected or differs from its default. */
export function Advanced({ isOpenAtFirst, children }: { isOpenAtFirst: boolean; children: ReactNode }) {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  return (
    <details
      className={styles.advanced}
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>Advanced</summary>
      <div className="stack">{children}</div>
    </details>
  );
}
