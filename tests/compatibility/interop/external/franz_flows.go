// Flows of franz-go, unmodified; prints one JSON object with what each flow saw. Run by test_external_clients.py.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

var broker, suffix = os.Args[1], os.Args[2]

// reach says where the broker is, whom to trust and who we are.
func reach() []kgo.Opt {
	options := []kgo.Opt{kgo.SeedBrokers(strings.Split(broker, ",")...)}
	if authority := os.Getenv("FLOWS_CA"); authority != "" {
		pem, err := os.ReadFile(authority)
		must(err)
		trusted := x509.NewCertPool()
		trusted.AppendCertsFromPEM(pem)
		auth := scram.Auth{User: os.Getenv("FLOWS_USER"), Pass: os.Getenv("FLOWS_PASSWORD")}
		options = append(options, kgo.DialTLSConfig(&tls.Config{RootCAs: trusted}), kgo.SASL(auth.AsSha256Mechanism()))
	}
	return options
}

func client(options ...kgo.Opt) *kgo.Client {
	base := append(reach(), kgo.AllowAutoTopicCreation(), kgo.FetchMaxWait(100*time.Millisecond))
	c, err := kgo.NewClient(append(base, options...)...)
	must(err)
	return c
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 30*time.Second)
}

func send(c *kgo.Client, topic string, values ...string) error {
	ctx, cancel := within()
	defer cancel()
	var records []*kgo.Record
	for _, value := range values {
		records = append(records, &kgo.Record{Topic: topic, Value: []byte(value)})
	}
	return c.ProduceSync(ctx, records...).FirstErr()
}

func read(topic string, level kgo.IsolationLevel, count int) []string {
	c := client(kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(level), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer c.Close()
	ctx, cancel := within()
	defer cancel()
	var values []string
	for len(values) < count && ctx.Err() == nil {
		c.PollFetches(ctx).EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	sort.Strings(values)
	return values
}

func idempotentProduce() any {
	topic := "idempotent-" + suffix
	c := client()
	defer c.Close()
	must(send(c, topic, "0", "1", "2", "3", "4"))
	return read(topic, kgo.ReadCommitted(), 5)
}

func rebalance(options ...kgo.Opt) func() any {
	return func() any {
		topic := fmt.Sprintf("rebalance-%d-%s", len(options), suffix)
		admin := client()
		request := kmsg.NewPtrCreateTopicsRequest()
		wanted := kmsg.NewCreateTopicsRequestTopic()
		wanted.Topic, wanted.NumPartitions, wanted.ReplicationFactor = topic, 4, 1
		request.Topics = append(request.Topics, wanted)
		ctx, cancel := within()
		defer cancel()
		_, err := request.RequestWith(ctx, admin)
		must(err)
		admin.Close()
		counts := make(chan [2]int, 100)
		member := func(number int) *kgo.Client {
			held := map[int32]bool{}
			tell := func(lost bool) func(context.Context, *kgo.Client, map[string][]int32) {
				return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
					for _, p := range partitions[topic] {
						if lost {
							delete(held, p)
						} else {
							held[p] = true
						}
					}
					counts <- [2]int{number, len(held)}
				}
			}
			all := append([]kgo.Opt{kgo.ConsumerGroup(topic), kgo.ConsumeTopics(topic), kgo.HeartbeatInterval(200 * time.Millisecond),
				kgo.OnPartitionsAssigned(tell(false)), kgo.OnPartitionsRevoked(tell(true)), kgo.OnPartitionsLost(tell(true))}, options...)
			c := client(all...)
			go func() {
				for !c.PollFetches(ctx).IsClientClosed() && ctx.Err() == nil {
				}
			}()
			return c
		}
		first, second := member(0), member(1)
		now := [2]int{}
		wait := func(wanted [2]int) {
			for now != wanted {
				select {
				case change := <-counts:
					now[change[0]] = change[1]
				case <-ctx.Done():
					panic(fmt.Sprintf("assigned %v, wanted %v", now, wanted))
				}
			}
		}
		wait([2]int{2, 2})
		first.Close()
		wait([2]int{0, 4})
		second.Close()
		return now[1]
	}
}

func transactions() any {
	topic := "txn-" + suffix
	c := client(kgo.TransactionalID("txn-" + suffix))
	defer c.Close()
	ctx, cancel := within()
	defer cancel()
	for _, step := range []struct {
		value  string
		commit kgo.TransactionEndTry
	}{{"committed", kgo.TryCommit}, {"aborted", kgo.TryAbort}, {"last", kgo.TryCommit}} {
		must(c.BeginTransaction())
		must(send(c, topic, step.value))
		must(c.EndTransaction(ctx, step.commit))
	}
	return map[string]any{"committed": read(topic, kgo.ReadCommitted(), 2), "all": read(topic, kgo.ReadUncommitted(), 3)}
}

func consumeTransformProduce() any {
	source, target, group := "in-"+suffix, "out-"+suffix, "ctp-"+suffix
	plain := client()
	must(send(plain, source, "a", "b"))
	plain.Close()
	session, err := kgo.NewGroupTransactSession(append(reach(), kgo.AllowAutoTopicCreation(), kgo.TransactionalID(group),
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(source), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	must(err)
	ctx, cancel := within()
	defer cancel()
	for done := 0; done < 2 && ctx.Err() == nil; {
		fetches := session.PollFetches(ctx)
		if fetches.NumRecords() == 0 {
			continue
		}
		must(session.Begin())
		fetches.EachRecord(func(r *kgo.Record) {
			must(session.ProduceSync(ctx, &kgo.Record{Topic: target, Value: []byte(strings.ToUpper(string(r.Value)))}).FirstErr())
			done++
		})
		committed, err := session.End(ctx, kgo.TryCommit)
		must(err)
		if !committed {
			panic("the session was not committed")
		}
	}
	session.Close()
	admin := client()
	defer admin.Close()
	request := kmsg.NewPtrOffsetFetchRequest()
	request.Group = group
	asked := kmsg.NewOffsetFetchRequestGroup()
	asked.Group = group
	request.Groups = append(request.Groups, asked)
	response, err := request.RequestWith(ctx, admin)
	must(err)
	offset := int64(0)
	for _, g := range response.Groups {
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				offset += max(0, p.Offset)
			}
		}
	}
	return map[string]any{"out": read(target, kgo.ReadCommitted(), 2), "offset": offset}
}

func zombie() any {
	topic, id := "zombie-"+suffix, "zombie-"+suffix
	ctx, cancel := within()
	defer cancel()
	old := client(kgo.TransactionalID(id))
	defer old.Close()
	must(old.BeginTransaction())
	must(send(old, topic, "zombie"))
	fresh := client(kgo.TransactionalID(id))
	defer fresh.Close()
	must(fresh.BeginTransaction())
	must(send(fresh, topic, "fresh"))
	must(fresh.EndTransaction(ctx, kgo.TryCommit))
	fenced := "not fenced"
	err := old.EndTransaction(ctx, kgo.TryCommit)
	var refusal *kerr.Error
	if errors.As(err, &refusal) {
		fenced = refusal.Message
	} else if err != nil {
		fenced = err.Error()
	}
	return map[string]any{"fenced": fenced, "committed": read(topic, kgo.ReadCommitted(), 1)}
}

func main() {
	seen := map[string]any{}
	for name, flow := range map[string]func() any{
		"idempotent_produce": idempotentProduce, "rebalance": rebalance(),
		"rebalance_eager": rebalance(kgo.Balancers(kgo.RangeBalancer())), "transactions": transactions,
		"consume_transform_produce": consumeTransformProduce, "zombie": zombie,
	} {
		func() {
			defer func() {
				if problem := recover(); problem != nil {
					seen[name] = map[string]string{"error": fmt.Sprint(problem)}
				}
			}()
			seen[name] = flow()
		}()
	}
	must(json.NewEncoder(os.Stdout).Encode(seen))
}
