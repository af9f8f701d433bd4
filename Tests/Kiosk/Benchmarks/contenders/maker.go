// A maker's program of one evening in Go: paho, and one commit for each order.
//
// Usage: maker PORT FILE
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"os"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	_ "github.com/mattn/go-sqlite3"
)

var recipes = map[string]map[string]int{
	"strawberry":        {"strawberry": 16},
	"banana":            {"banana": 2},
	"kiwi":              {"kiwi": 3},
	"pineapple":         {"pineapple": 2},
	"strawberry_banana": {"strawberry": 10, "banana": 1},
	"mango":             {"mango": 3},
	"mango_kiwi":        {"mango": 2, "kiwi": 1},
}

const schema = `
CREATE TABLE IF NOT EXISTS stock (
  fruit TEXT PRIMARY KEY, quantity INTEGER NOT NULL CHECK (quantity >= 0));
CREATE TABLE IF NOT EXISTS orders (
  number INTEGER PRIMARY KEY, id TEXT, juice TEXT, at TEXT DEFAULT CURRENT_TIMESTAMP);
INSERT OR IGNORE INTO stock VALUES ('strawberry', 1000000000), ('banana', 1000000000),
  ('pineapple', 1000000000), ('kiwi', 1000000000), ('mango', 1000000000);`

type order struct {
	ID    string `json:"id"`
	Juice string `json:"juice"`
}

type result struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Ticket int64  `json:"ticket,omitempty"`
	Juice  string `json:"juice"`
}

type shop struct {
	database       *sql.DB
	update, insert *sql.Stmt
}

func (s shop) take(wanted order) (int64, error) {
	transaction, err := s.database.Begin()
	if err != nil {
		return 0, err
	}
	defer transaction.Rollback()
	update := transaction.Stmt(s.update)
	for fruit, amount := range recipes[wanted.Juice] {
		if _, err := update.Exec(amount, fruit); err != nil {
			return 0, err
		}
	}
	made, err := transaction.Stmt(s.insert).Exec(wanted.ID, wanted.Juice)
	if err != nil {
		return 0, err
	}
	number, err := made.LastInsertId()
	if err != nil {
		return 0, err
	}
	return number, transaction.Commit()
}

func (s shop) received(client mqtt.Client, message mqtt.Message) {
	var wanted order
	if err := json.Unmarshal(message.Payload(), &wanted); err != nil {
		return
	}
	answer := result{ID: wanted.ID, Status: "ready", Juice: wanted.Juice}
	number, err := s.take(wanted)
	if err != nil {
		answer.Status = "out_of_stock"
	}
	answer.Ticket = number
	text, _ := json.Marshal(answer)
	client.Publish(message.Topic()+"/result", 1, false, text)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	database, err := sql.Open("sqlite3", "file:"+os.Args[2]+"?_journal_mode=WAL&_synchronous=FULL")
	check(err)
	database.SetMaxOpenConns(1)
	_, err = database.Exec(schema)
	check(err)
	update, err := database.Prepare("UPDATE stock SET quantity = quantity - ? WHERE fruit = ?")
	check(err)
	insert, err := database.Prepare("INSERT INTO orders (id, juice) VALUES (?, ?)")
	check(err)
	s := shop{database, update, insert}

	// The session survives the process, so that orders queue while it is not running. Go's connections
	// have TCP_NODELAY set by default.
	options := mqtt.NewClientOptions().AddBroker("tcp://127.0.0.1:" + os.Args[1]).
		SetClientID("maker-go").SetCleanSession(false)
	options.SetDefaultPublishHandler(s.received)
	options.SetOnConnectHandler(func(client mqtt.Client) {
		token := client.Subscribe("kiosk/k1/order/+", 1, nil)
		token.Wait()
		check(token.Error())
		fmt.Println("online")
	})
	client := mqtt.NewClient(options)
	token := client.Connect()
	token.Wait()
	check(token.Error())
	select {}
}
