create table stock (
    book   text collate "C" primary key,
    copies integer not null check (copies >= 0)
);

create table orders (
    id         text primary key,
    created_at timestamptz not null,
    currency   text not null,
    total      numeric not null -- with as many digits as were agreed: 21.40 stays 21.40
);

create table order_lines (
    order_id   text not null references orders,
    position   integer not null,
    book       text not null,
    quantity   integer not null check (quantity > 0),
    unit_price numeric not null,
    total      numeric not null,
    primary key (order_id, position)
);

-- An idempotency key is claimed while order_id is null, and completed from then on.
create table idempotency_keys (
    key         text primary key,
    fingerprint bytea not null,
    token       text not null,        -- of the claim
    lapses_at   timestamptz not null, -- the claim
    order_id    text unique references orders deferrable initially deferred
);
